#!/usr/bin/env bash
# Rehearses a release: builds all that is shipped from a clean clone of what is committed, installs each in an empty
# environment and runs its first command. It publishes nothing; at its end it says what a person has to type.
set -euo pipefail
root=$(git rev-parse --show-toplevel)
python=${PYTHON:-python3}
out=$root/build/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out" && mkdir -p "$out"
git clone --quiet "$root" "$work/clone"
cd "$work/clone"
version=$("$python" -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])')
step() { printf '\n== %s (%d s so far)\n' "$1" "$SECONDS"; }

step "sdist, and the wheel from it"
"$python" -m venv "$work/build" && "$work/build/bin/python" -m pip install --quiet build
"$work/build/bin/python" -m build --outdir "$out" . > "$work/build.log" 2>&1 || { tail -30 "$work/build.log"; exit 1; }
wheel=$(echo "$out"/*.whl)

# An empty environment in $work/NAME with the wheel and these extras, and its size.
environment() {
  local began=$SECONDS
  "$python" -m venv "$work/$1"
  # As the Makefile: a CPU build of torch, by the configured index or by that of PyTorch.
  if [ -n "$2" ]; then
    "$work/$1/bin/python" -m pip install --quiet "torch==$TORCH+cpu" 2> /dev/null ||
      "$work/$1/bin/python" -m pip install --quiet "torch==$TORCH" --extra-index-url https://download.pytorch.org/whl/cpu
  fi
  "$work/$1/bin/python" -m pip install --quiet "$wheel$2"
  echo "attract$2: $(du -sm "$work/$1" | cut -f1) MB in $((SECONDS - began)) s"
}

step "the base: a verdict on a page"
environment base ""
"$work/base/bin/attract" --version
"$work/base/bin/attract" look "$work/clone/web/page-games/moles/index.html" --frames 60 --json > "$work/look.json"
(cd "$work" && base/bin/attract ci "$work/clone/web/page-games/moles/index.html" --seconds 30 | tail -1)

step "the npm package: a documented test"
npm pack --silent --pack-destination "$out" "$(echo "$work"/base/lib/python*/site-packages/attract/web/playwright)"
mkdir -p "$work/npm/tests" && cp -r web/page-games/meteors "$work/npm/dist"
# The page's first two blocks: what every test begins with, and a minute of play.
awk '/^```ts$/ { n++; on = 1; next } /^```$/ { on = 0 } on && n <= 2' docs/playwright.md > "$work/npm/tests/play.spec.ts"
chromium=$("$work/base/bin/python" -c 'from attract.browser.chromium import require_chromium; print(require_chromium().path)')
cat > "$work/npm/playwright.config.mjs" << END
const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
export default { reporter: "line", use: { launchOptions: { executablePath: "$chromium", args } } };
END
(
  cd "$work/npm"
  echo '{ "type": "module" }' > package.json
  npm install --silent --save-dev @playwright/test "$(echo "$out"/attract-rl-*.tgz)"
  npx playwright test
)

step "[train]: a game that is learned, and shipped"
environment train "[train]"
(cd "$work" && train/bin/attract train cartpole --headless --until-return 475 --exit | tail -5)
(cd "$work" && train/bin/attract export latest --out policy --format js && ls policy)

step "the site"
{
  npm --prefix docs install --silent --no-package-lock
  "$work/train/bin/python" docs/.vitepress/prepare.py
  npm --prefix docs run --silent build
} > "$work/docs.log" 2>&1 || { tail -30 "$work/docs.log"; exit 1; }
tar -czf "$out/attract-$version-docs.tar.gz" -C docs/.vitepress/dist .

step "the image"
if command -v docker > /dev/null && docker info > /dev/null 2>&1; then
  docker build --quiet --tag "attract:$version" . && docker run --rm "attract:$version" attract --version
else
  echo "not built: there is no Docker engine here"
fi

step "done"
ls -sh "$out"
cat << END

Nothing is published. What a person types:
  git tag v$version && git push origin v$version
  python -m pip install twine && twine upload $out/attract_rl-$version*.whl $out/attract_rl-$version.tar.gz
  npm publish $out/attract-rl-$version.tgz
  docker push attract:$version
END

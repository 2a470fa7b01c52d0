// Hopper: a bird between pillars, with KAPLAY.
import kaplay from "kaplay";

const k = kaplay({ width: 480, height: 360, background: "#87ceeb", global: false });
const GAP = 120;
const SPEED = 160;
// At 50 a second.
const PILLAR_STEPS = 80;

k.setGravity(1400);

k.scene("title", () => {
  k.add([k.text("Space to hop"), k.pos(120, 160)]);
  k.onKeyPress("space", () => k.go("play"));
});

k.scene("play", () => {
  let score = 0;
  const label = k.add([k.text("0"), k.pos(12, 12), k.z(10)]);
  const bird = k.add([k.rect(26, 20), k.color(255, 210, 0), k.pos(120, 150), k.area(), k.body(), "bird"]);
  k.onKeyPress("space", () => bird.jump(380));
  // By steps of its physics: in which frame a timer of 1.6 s ends is a matter of rounding.
  let steps = 0;
  k.onFixedUpdate(() => {
    if (steps++ % PILLAR_STEPS > 0) return;
    const top = k.rand(40, k.height() - GAP - 40);
    const pillar = (y, height) => [
      k.rect(46, height),
      k.color(30, 130, 60),
      k.pos(k.width(), y),
      k.area(),
      k.move(k.LEFT, SPEED),
      k.offscreen({ destroy: true }),
      "pillar",
    ];
    k.add(pillar(0, top));
    k.add([...pillar(top + GAP, k.height() - top - GAP), "lower", { passed: false }]);
  });
  k.onUpdate("lower", (pillar) => {
    if (!pillar.passed && pillar.pos.x + 46 < bird.pos.x) {
      pillar.passed = true;
      score++;
      label.text = String(score);
    }
  });
  bird.onCollide("pillar", () => k.go("lost", score));
  bird.onUpdate(() => {
    if (bird.pos.y > k.height() || bird.pos.y < -60) k.go("lost", score);
  });
});

k.scene("lost", (score) => {
  k.add([k.text(`${score} passed. Space`), k.pos(100, 160)]);
  k.onKeyPress("space", () => k.go("play"));
});

k.go("title");
// For the console, while it is made.
window.k = k;

// Moles: nine holes of plain HTML. A mole comes up, and goes again; a click on it scores, a click beside it costs.
(() => {
  const ROUND_SECONDS = 30;
  const field = document.getElementById("field");
  const holes = [];
  const downTimers = [];
  let score = 0;
  let running = false;
  let began = 0;
  let moleTimer = null;

  for (let i = 0; i < 9; i++) {
    const hole = document.createElement("button");
    hole.className = "hole";
    hole.innerHTML = '<span class="mole"></span>';
    hole.addEventListener("click", () => whack(i));
    field.append(hole);
    holes.push(hole);
  }

  function show(id, value) {
    document.getElementById(id).textContent = value;
  }

  function whack(i) {
    if (!running) return;
    if (holes[i].classList.contains("up") && !holes[i].classList.contains("hit")) {
      score += 1;
      holes[i].classList.add("hit");
      downLater(i, 150);
    } else score -= 0.25;
    show("score", score);
  }

  function downLater(i, ms) {
    clearTimeout(downTimers[i]);
    downTimers[i] = setTimeout(() => down(i), ms);
  }

  function down(i) {
    clearTimeout(downTimers[i]);
    holes[i].classList.remove("up", "hit");
  }

  function up() {
    const free = holes.map((_, i) => i).filter((i) => !holes[i].classList.contains("up"));
    const i = free[Math.floor(Math.random() * free.length)];
    holes[i].classList.add("up");
    downLater(i, 900 + Math.random() * 600);
    moleTimer = setTimeout(up, 400 + Math.random() * 500);
  }

  function begin() {
    running = true;
    score = 0;
    began = Date.now();
    for (let i = 0; i < 9; i++) down(i);
    clearTimeout(moleTimer);
    up();
    show("score", 0);
    document.getElementById("begin").disabled = true;
  }

  function end() {
    running = false;
    clearTimeout(moleTimer);
    document.getElementById("begin").disabled = false;
    const best = Math.max(score, Number(localStorage.getItem("moles") ?? 0));
    localStorage.setItem("moles", best);
    show("best", best);
  }

  setInterval(() => {
    if (!running) return;
    const left = ROUND_SECONDS - (Date.now() - began) / 1000;
    show("left", Math.max(0, Math.ceil(left)));
    if (left <= 0) end();
  }, 100);
  document.getElementById("begin").addEventListener("click", begin);
})();

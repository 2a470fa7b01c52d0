// Meteors: a ship at the ground, stones from the sky. Drawn on a canvas, 60 times a second by requestAnimationFrame.
const canvas = document.getElementById("sky");
const context = canvas.getContext("2d");
const WIDTH = canvas.width;
const HEIGHT = canvas.height;
const SHIP = { width: 28, y: HEIGHT - 24, speed: 260 };

let ship;
let meteors;
let survived;
let state = "title";
let spawnTimer = null;
let last = 0;
let best = Number(localStorage.getItem("meteors-best") || 0);
const held = {};
let audio = null;

document.getElementById("best").textContent = best.toFixed(1);

function beep(frequency) {
  audio ??= new AudioContext();
  const tone = audio.createOscillator();
  const volume = audio.createGain();
  tone.frequency.value = frequency;
  volume.gain.setValueAtTime(0.1, audio.currentTime);
  volume.gain.linearRampToValueAtTime(0, audio.currentTime + 0.1);
  tone.connect(volume);
  volume.connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.1);
}

function newGame() {
  ship = { x: WIDTH / 2 };
  meteors = [];
  survived = 0;
  state = "playing";
  last = performance.now();
  scheduleMeteor();
}

function scheduleMeteor() {
  clearTimeout(spawnTimer);
  // Ever more of them, never faster than five a second.
  const wait = Math.max(200, 700 - survived * 12) * (0.6 + 0.8 * Math.random());
  spawnTimer = setTimeout(() => {
    const radius = 8 + Math.random() * 14;
    // Half of them come for the ship.
    const x = Math.random() < 0.5 ? ship.x : Math.random() * WIDTH;
    meteors.push({ x, y: -radius, radius, vx: (Math.random() - 0.5) * 60, vy: 120 + Math.random() * 90 });
    scheduleMeteor();
  }, wait);
}

function lose() {
  state = "over";
  clearTimeout(spawnTimer);
  beep(110);
  if (survived > best) {
    best = survived;
    localStorage.setItem("meteors-best", String(best));
    document.getElementById("best").textContent = best.toFixed(1);
  }
}

function update(seconds) {
  const direction = (held.ArrowRight ? 1 : 0) - (held.ArrowLeft ? 1 : 0);
  ship.x = Math.min(
    WIDTH - SHIP.width / 2,
    Math.max(SHIP.width / 2, ship.x + direction * SHIP.speed * seconds),
  );
  survived += seconds;
  for (const meteor of meteors) {
    meteor.x += meteor.vx * seconds;
    meteor.y += meteor.vy * seconds;
    const dx = Math.max(0, Math.abs(meteor.x - ship.x) - SHIP.width / 2);
    const dy = Math.max(0, Math.abs(meteor.y - SHIP.y) - 8);
    if (dx * dx + dy * dy < meteor.radius * meteor.radius) lose();
  }
  const before = meteors.length;
  meteors = meteors.filter((meteor) => meteor.y < HEIGHT + meteor.radius);
  if (meteors.length < before && state === "playing") beep(660);
}

function draw() {
  context.fillStyle = "#0b1020";
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = "#c96";
  for (const meteor of meteors ?? []) {
    context.beginPath();
    context.arc(meteor.x, meteor.y, meteor.radius, 0, 2 * Math.PI);
    context.fill();
  }
  if (ship) {
    context.fillStyle = "#6cf";
    context.fillRect(ship.x - SHIP.width / 2, SHIP.y - 8, SHIP.width, 16);
  }
  context.fillStyle = "#fff";
  context.font = "16px sans-serif";
  if (state === "playing") context.fillText(`${survived.toFixed(1)} s`, 8, 20);
  else context.fillText(state === "title" ? "Press Space" : "Hit! Press Space", WIDTH / 2 - 50, HEIGHT / 2);
}

function frame(now) {
  const seconds = Math.min(0.05, (now - last) / 1000);
  last = now;
  if (state === "playing") update(seconds);
  draw();
  requestAnimationFrame(frame);
}

addEventListener("keydown", (event) => {
  held[event.code] = true;
  if (event.code === "Space" && state !== "playing") newGame();
});
addEventListener("keyup", (event) => {
  held[event.code] = false;
});
requestAnimationFrame(frame);

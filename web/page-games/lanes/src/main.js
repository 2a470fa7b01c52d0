// Lanes: a cart on three lanes, with Three.js. Left and right change the lane, what stands in the way ends the ride.
import * as THREE from "three";

const renderer = new THREE.WebGLRenderer({ antialias: true });
renderer.setSize(innerWidth, innerHeight);
document.body.append(renderer.domElement);
const scene = new THREE.Scene();
scene.background = new THREE.Color("#223");
scene.fog = new THREE.Fog("#223", 10, 60);
const camera = new THREE.PerspectiveCamera(60, innerWidth / innerHeight, 0.1, 100);
camera.position.set(0, 4, 7);
camera.lookAt(0, 0, -6);
scene.add(new THREE.HemisphereLight("#fff", "#446", 3));
const road = new THREE.Mesh(
  new THREE.PlaneGeometry(8, 120),
  new THREE.MeshLambertMaterial({ color: "#555" }),
);
road.rotation.x = -Math.PI / 2;
road.position.z = -50;
scene.add(road);
const cart = new THREE.Mesh(
  new THREE.BoxGeometry(1.2, 1, 1.8),
  new THREE.MeshLambertMaterial({ color: "#4af" }),
);
cart.position.y = 0.5;
scene.add(cart);

const LANES = [-2.4, 0, 2.4];
const geometry = new THREE.BoxGeometry(1.8, 1.4, 1);
const material = new THREE.MeshLambertMaterial({ color: "#d63" });
const clock = new THREE.Clock();
const ride = { state: "title", lane: 1, blocks: [], distance: 0, next: 0 };
const label = document.getElementById("score");

function begin() {
  for (const block of ride.blocks) scene.remove(block);
  Object.assign(ride, { state: "riding", lane: 1, blocks: [], distance: 0, next: 12 });
  cart.position.x = 0;
}

addEventListener("keydown", (event) => {
  if (event.repeat) return;
  if (event.code === "Space" && ride.state !== "riding") begin();
  if (event.code === "ArrowLeft") ride.lane = Math.max(0, ride.lane - 1);
  if (event.code === "ArrowRight") ride.lane = Math.min(2, ride.lane + 1);
});

function update(seconds) {
  const speed = 14 + ride.distance / 40;
  ride.distance += speed * seconds;
  cart.position.x += (LANES[ride.lane] - cart.position.x) * Math.min(1, 12 * seconds);
  if (ride.distance > ride.next) {
    const free = Math.floor(Math.random() * 3);
    for (let lane = 0; lane < 3; lane++) {
      if (lane === free || Math.random() < 0.3) continue;
      const block = new THREE.Mesh(geometry, material);
      block.position.set(LANES[lane], 0.7, -55);
      scene.add(block);
      ride.blocks.push(block);
    }
    ride.next += 14;
  }
  for (const block of ride.blocks) {
    block.position.z += speed * seconds;
    if (Math.abs(block.position.z) < 1.4 && Math.abs(block.position.x - cart.position.x) < 1.4)
      ride.state = "over";
  }
  for (const block of ride.blocks.filter((one) => one.position.z > 8)) scene.remove(block);
  ride.blocks = ride.blocks.filter((one) => one.position.z <= 8);
  label.textContent = `${Math.floor(ride.distance)} m`;
}

renderer.setAnimationLoop(() => {
  const seconds = Math.min(0.05, clock.getDelta());
  if (ride.state === "riding") update(seconds);
  renderer.render(scene, camera);
});

window.lanes = { ride, cart, begin };

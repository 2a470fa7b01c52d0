// Stars: catch them in a basket, let the bombs pass, with Phaser and its arcade physics.
import * as Phaser from "phaser";

class Title extends Phaser.Scene {
  constructor() {
    super("title");
  }
  create() {
    this.add.text(150, 160, "Space to begin");
    this.input.keyboard.once("keydown-SPACE", () => this.scene.start("play"));
  }
}

class Play extends Phaser.Scene {
  constructor() {
    super("play");
  }
  create() {
    this.score = 0;
    this.lives = 3;
    this.label = this.add.text(12, 12, "0");
    this.basket = this.add.rectangle(240, 335, 70, 16, 0x4477ff);
    this.physics.add.existing(this.basket);
    this.basket.body.setCollideWorldBounds(true).setAllowGravity(false).setImmovable(true);
    this.falling = this.physics.add.group();
    this.physics.add.overlap(this.basket, this.falling, (_basket, thing) => this.caught(thing));
    this.cursors = this.input.keyboard.createCursorKeys();
    this.time.addEvent({ delay: 700, loop: true, callback: () => this.drop() });
  }
  drop() {
    const isBomb = Math.random() < 0.3;
    const thing = this.add.circle(Phaser.Math.Between(20, 460), -10, 9, isBomb ? 0xdd3333 : 0xffdd33);
    this.falling.add(thing);
    thing.isBomb = isBomb;
    thing.body.setVelocity(Phaser.Math.Between(-30, 30), Phaser.Math.Between(120, 200));
    thing.body.setAllowGravity(false);
  }
  caught(thing) {
    if (thing.isBomb) this.lives--;
    else this.score++;
    this.label.setText(`${this.score}, ${this.lives} lives`);
    thing.destroy();
    if (this.lives === 0) this.scene.start("lost", { score: this.score });
  }
  update() {
    const direction = (this.cursors.right.isDown ? 1 : 0) - (this.cursors.left.isDown ? 1 : 0);
    this.basket.body.setVelocityX(direction * 320);
    for (const thing of [...this.falling.getChildren()]) if (thing.y > 380) thing.destroy();
  }
}

class Lost extends Phaser.Scene {
  constructor() {
    super("lost");
  }
  create({ score }) {
    this.add.text(150, 160, `${score} stars. Space`);
    this.input.keyboard.once("keydown-SPACE", () => this.scene.start("play"));
  }
}

window.game = new Phaser.Game({
  type: Phaser.AUTO,
  parent: "game",
  width: 480,
  height: 360,
  backgroundColor: "#101830",
  physics: { default: "arcade" },
  scene: [Title, Play, Lost],
});

/** What a game has ready to say at its end: found in its scripts and elements, and seen to be said. */

import { expect, test } from "vitest";
import { answerDialogs } from "../../../web/page-clock/src/dialogs.ts";
import { endWordsOf, saidPlace } from "../../../web/page-probe/src/end-words.ts";
import { blankPage } from "../../support/blank-page.ts";

const SCRIPT = `
  if (lives === 0) result.textContent = 'You lose!';
  else if (left === 0) result.textContent = "YOU WIN";
  else alert(\`Time's up\`); scene("gameOver"); load("you win.png"); on('restart', () => "game-over");
`;

test("words to a player are found; names and files are none", () => {
  expect(endWordsOf(["Score", " Game over "], [SCRIPT])).toEqual({
    lost: ["Game over", "You lose!", "Time's up"],
    won: ["YOU WIN"],
  });
  expect(
    endWordsOf(
      [],
      ["const ends = [\"It's a draw\", 'Player One Wins!', 'Winner: ']; const o = 'he who wins'"],
    ),
  ).toEqual({
    lost: ["It's a draw"],
    won: ["Player One Wins!", "Winner:"],
  });
  expect(endWordsOf(["You Escaped! 🎉", "You escape the maze"], []).won).toEqual(["You Escaped! 🎉"]);
  const sentence = "Victory. Your timing overwhelms the arena.";
  expect(endWordsOf([sentence], [])).toEqual({ lost: [], won: [sentence] });
  expect(endWordsOf([], ["const over = 'gameover'"])).toEqual({ lost: [], won: [] });
  expect(saidPlace([], false)).toBe(null);
});

test("they are said while one of them is to be read, in whatever case", () => {
  const window = blankPage();
  const { body } = window.document;
  body.innerHTML = '<p hidden>You lose!</p><h3 style="text-transform: uppercase">Result: <span></span></h3>';
  const place = saidPlace(["You lose!", "You Win!"], false);
  expect(place?.text).toBe('says(w, ["You lose!","You Win!"])');
  expect(place?.read(window)).toBe(false);
  body.querySelector("span")!.textContent = "You Win!";
  expect(place?.read(window)).toBe(true);
  body.querySelector("span")!.textContent = "";
  answerDialogs(window as Window & typeof globalThis);
  expect(place?.read(window)).toBe(false);
  window.alert("Oh no: you lose!");
  expect(place?.read(window)).toBe(true);
  expect(saidPlace(["Game over"], true)?.text).toBe('(says(w, ["Game over"]) || drawn(w).says("Game over"))');
});

/** The name in pixels, as on a cabinet's marquee. */

const LETTERS: Readonly<Record<string, readonly string[]>> = {
  A: [".###.", "#...#", "#####", "#...#", "#...#"],
  C: [".####", "#....", "#....", "#....", ".####"],
  R: ["####.", "#...#", "####.", "#..#.", "#...#"],
  T: ["#####", "..#..", "..#..", "..#..", "..#.."],
};
const NAME = "ATTRACT";
const ADVANCE = 6;

export function Wordmark() {
  const pixels = [...NAME].flatMap((letter, i) =>
    LETTERS[letter].flatMap((row, y) =>
      [...row].flatMap((pixel, x) => (pixel === "#" ? [{ x: i * ADVANCE + x, y }] : [])),
    ),
  );
  return (
    <svg
      height={20}
      style={{ display: "block" }}
      fill="currentColor"
      viewBox={`0 0 ${NAME.length * ADVANCE - 1} 5`}
      role="img"
      aria-label="Attract"
    >
      {pixels.map(({ x, y }) => (
        <rect key={`${x}-${y}`} x={x} y={y} width="0.92" height="0.92" />
      ))}
    </svg>
  );
}

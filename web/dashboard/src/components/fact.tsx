/** A number of a list entry, below its name. */

export function Fact({ label, value }: { label: string; value: string }) {
  return (
    <span>
      <span className="label">{label}</span>
      <br />
      <span className="mono">{value}</span>
    </span>
  );
}

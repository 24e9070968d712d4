interface FactProps {
  readonly name: string;
  readonly value: string;
  readonly title?: string;
  readonly isOdd?: boolean;
}

/** A name and its value, in a list of facts. */
export function Fact({ name, value, title, isOdd = false }: FactProps) {
  return (
    <div class={isOdd ? 'odd' : ''} title={title}>
      <dt>{name}</dt>
      <dd>
        <bdi>{value}</bdi>
      </dd>
    </div>
  );
}

/** A line of a Dockerfile with its continuation lines. */
export interface Instruction {
  /** `COPY` */
  readonly name: string;
  /** `{ from: 'build' }` */
  readonly flags: Readonly<Record<string, string>>;
  /** Without flags: `package.json ./`. */
  readonly text: string;
}

export interface Stage {
  /** As it stands there, with its variables. */
  readonly from: string;
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

export interface Dockerfile {
  /** Before the first stage: `{ NODE_VERSION: '20' }`. */
  readonly args: Readonly<Record<string, string>>;
  readonly stages: readonly Stage[];
}

/** The part of the syntax that our file uses: no documents within it, no other escape than the backslash. */
export function parseDockerfile(text: string): Dockerfile {
  const args: Record<string, string> = {};
  const stages: { from: string; name: string | null; instructions: Instruction[] }[] = [];
  const lines = text.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\s*\\\n\s*/g, ' ');
  for (const line of lines.split('\n').filter((one) => one.trim() !== '')) {
    const instruction = parseInstruction(line);
    if (instruction.name === 'FROM') {
      const [from = '', , name = null] = instruction.text.split(/\s+/);
      stages.push({ from, name, instructions: [] });
      continue;
    }
    const stage = stages.at(-1);
    if (stage !== undefined) stage.instructions.push(instruction);
    else if (instruction.name === 'ARG') {
      const [name = '', value = ''] = instruction.text.split('=');
      args[name] = value;
    } else throw new Error(`before the first FROM: ${line}`);
  }
  return { args, stages };
}

function parseInstruction(line: string): Instruction {
  const [, name, flags, text] = /^([A-Z]+)((?:\s+--[a-z-]+=\S+)*)\s+(.+)$/.exec(line) ?? [];
  if (name === undefined) throw new Error(`not understood: ${line}`);
  const pairs = [...flags!.matchAll(/--([a-z-]+)=(\S+)/g)].map(([, key, value]) => [key, value]);
  return { name, flags: Object.fromEntries(pairs), text: text!.trim() };
}

import { packageElsewhere } from './package-elsewhere';

/** `npm run release:check`: the package as it would be published. */
packageElsewhere.run().then(
  () => process.stdout.write(`ok: ${packageElsewhere.name}\n`),
  (error: Error) => {
    process.stderr.write(`not so: ${packageElsewhere.name}\n${error.message}\n`);
    process.exitCode = 1;
  },
);

// Gives the cases to the merge rules of client.js, whose address is the first argument; prints a line for each that it fails.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

const { ruleFor, StreamContent } = await import(process.argv[2]);
const { contents, names } = JSON.parse(readFileSync(new URL('cases.json', import.meta.url)));
for (const { name, stream, rule, steps } of contents) {
  const content = new StreamContent(ruleFor([rule], stream));
  steps.forEach(({ data, follows, value }, number) => {
    if (content.apply(data) !== follows) console.log(`${name}, step ${number + 1}: should ${follows ? '' : 'not '}follow`);
    if (!isDeepStrictEqual(content.value ?? null, value)) console.log(`${name}, step ${number + 1}: ${JSON.stringify(content.value)}`);
  });
}
for (const { name, pattern, fits } of names) if (!!ruleFor([{ pattern }], name) !== fits) console.log(`${name} and ${pattern}`);

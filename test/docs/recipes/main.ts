/** Runs one recipe in the copy of the sources that it is in, and prints the outcome. */
const [name = '', folder = ''] = process.argv.slice(2);
const { default: run } = (await import(`./${name}.ts`)) as {
  default: (folder: string) => Promise<unknown>;
};
console.log(JSON.stringify(await run(folder)));

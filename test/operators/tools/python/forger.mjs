// A sandbox process that has been taken over: it says it is ready and then answers as its argument says.

const mode = process.argv[2];
process.on('disconnect', () => process.exit(0));
process.on('message', (message) => {
  if (message.settings) {
    if (mode !== 'silent') process.send({ ready: mode !== 'never-ready' });
    return;
  }
  const { id } = message;
  if (mode === 'other-id')
    process.send({ id: id + 1, kind: 'done', text: 'forged', reusable: true });
  if (mode === 'other-kind') process.send({ id, kind: 'won', text: 'forged', reusable: true });
  if (mode === 'not-text') process.send({ id, kind: 'done', text: { forged: 1 }, reusable: true });
  if (mode === 'nonsense') process.send(null);
  if (mode === 'grows') process.held = Buffer.alloc(500 * 2 ** 20, 1);
  if (mode === 'exits') process.exit(0);
  if (mode === 'twice') {
    process.send({ id, kind: 'done', text: 'first', reusable: true });
    process.send({ id: id + 1, kind: 'done', text: 'forged', reusable: true });
  }
});

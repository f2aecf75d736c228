/**
 * Settings that must not contain a key: they are recorded with the run, and the key would be too. Keys belong
 * in environment variables; a setting has `{key}` instead.
 */
import { z } from 'zod';
import { isWrittenLogin, keyIn } from './serverAddress.ts';

/** An address that may have a query. */
export const keylessAddress = z.string().superRefine((address, context) => {
  const found = keyIn(address);
  if (found === null) return;
  const message = `the URL contains ${found}, which would be stored with the run: put the key into an environment variable, name it in keyEnv, and write {key} in its place`;
  context.addIssue({ code: 'custom', message });
});

/** `name: value`. */
export const keylessHeader = z.string().superRefine((header, context) => {
  if (!isWrittenLogin(header)) return;
  const name = header.slice(0, header.indexOf(':'));
  const message = `the header ${name} contains a key, which would be stored with the run: put the key into an environment variable, name it in keyEnv, and write {key} in its place`;
  context.addIssue({ code: 'custom', message });
});

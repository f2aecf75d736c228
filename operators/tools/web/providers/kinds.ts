/** The providers that settings can choose. */
import * as all from './all.ts';
import type { ProviderKind } from './provider.ts';

/** By name. */
export const providerKinds: Readonly<Record<string, ProviderKind>> = all;

/** The JSON schema of a call's arguments. */
export interface ToolParameters {
  readonly type: 'object';
  readonly properties: Readonly<
    Record<
      string,
      { readonly type?: string; readonly description?: string; readonly [key: string]: unknown }
    >
  >;
  readonly required?: readonly string[];
  readonly [key: string]: unknown;
}

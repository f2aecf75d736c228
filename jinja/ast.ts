/** The tree of a template. Every node knows the line on which it begins. */

export type Expression =
  | {
      readonly kind: 'constant';
      readonly value: null | boolean | bigint | number | string;
      readonly line: number;
    }
  | { readonly kind: 'name'; readonly name: string; readonly line: number }
  | {
      readonly kind: 'list' | 'tuple';
      readonly items: readonly Expression[];
      readonly line: number;
    }
  | {
      readonly kind: 'dict';
      readonly pairs: readonly (readonly [Expression, Expression])[];
      readonly line: number;
    }
  | {
      readonly kind: 'attribute';
      readonly of: Expression;
      readonly name: string;
      readonly line: number;
    }
  | {
      readonly kind: 'item';
      readonly of: Expression;
      readonly key: Expression;
      readonly line: number;
    }
  | {
      readonly kind: 'slice';
      readonly start: Expression | null;
      readonly stop: Expression | null;
      readonly step: Expression | null;
      readonly line: number;
    }
  | {
      readonly kind: 'call';
      readonly of: Expression;
      readonly args: CallArguments;
      readonly line: number;
    }
  | Filter
  | {
      readonly kind: 'test';
      readonly of: Expression;
      readonly name: string;
      readonly args: CallArguments;
      readonly line: number;
    }
  | {
      readonly kind: 'not' | 'negative' | 'positive';
      readonly of: Expression;
      readonly line: number;
    }
  | {
      readonly kind: 'and' | 'or';
      readonly left: Expression;
      readonly right: Expression;
      readonly line: number;
    }
  | {
      readonly kind: 'arithmetic';
      readonly operator: string;
      readonly left: Expression;
      readonly right: Expression;
      readonly line: number;
    }
  | { readonly kind: 'concat'; readonly items: readonly Expression[]; readonly line: number }
  | {
      readonly kind: 'compare';
      readonly first: Expression;
      readonly rest: readonly { readonly operator: string; readonly right: Expression }[];
      readonly line: number;
    }
  | {
      readonly kind: 'condition';
      readonly test: Expression;
      readonly chosen: Expression;
      readonly otherwise: Expression | null;
      readonly line: number;
    };

/** `of` is null if the filter applies to the body of a block. */
export interface Filter {
  readonly kind: 'filter';
  readonly of: Expression | null;
  readonly name: string;
  readonly args: CallArguments;
  readonly line: number;
}

export interface CallArguments {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [string, Expression])[];
  readonly spread: Expression | null;
  readonly namedSpread: Expression | null;
}

/** What a `set` or `for` assigns to. */
export type Target =
  | { readonly kind: 'name'; readonly name: string }
  | {
      readonly kind: 'field';
      readonly namespace: string;
      readonly field: string;
      readonly line: number;
    }
  | { readonly kind: 'tuple'; readonly items: readonly Target[]; readonly line: number };

export interface Signature {
  readonly parameters: readonly { readonly name: string; readonly otherwise: Expression | null }[];
}

export type Body = readonly Statement[];

export type Statement =
  | { readonly kind: 'data'; readonly text: string; readonly line: number }
  | { readonly kind: 'print'; readonly value: Expression; readonly line: number }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly test: Expression; readonly body: Body }[];
      readonly otherwise: Body;
      readonly line: number;
    }
  | {
      readonly kind: 'for';
      readonly target: Target;
      readonly items: Expression;
      readonly test: Expression | null;
      readonly recursive: boolean;
      readonly body: Body;
      readonly otherwise: Body;
      readonly line: number;
    }
  | {
      readonly kind: 'set';
      readonly target: Target;
      readonly value: Expression;
      readonly line: number;
    }
  | {
      readonly kind: 'setBlock';
      readonly target: Target;
      readonly filter: Filter | null;
      readonly body: Body;
      readonly line: number;
    }
  | {
      readonly kind: 'macro';
      readonly name: string;
      readonly signature: Signature;
      readonly body: Body;
      /** Which of `caller`, `kwargs` and `varargs` the body reads. */
      readonly reads: ReadonlySet<string>;
      readonly line: number;
    }
  | {
      readonly kind: 'callBlock';
      readonly signature: Signature;
      readonly call: Extract<Expression, { kind: 'call' }>;
      readonly body: Body;
      readonly line: number;
    }
  | {
      readonly kind: 'filterBlock';
      readonly filter: Filter;
      readonly body: Body;
      readonly line: number;
    }
  | {
      readonly kind: 'with';
      readonly targets: readonly Target[];
      readonly values: readonly Expression[];
      readonly body: Body;
      readonly line: number;
    }
  /** Marks what the policy writes, for training masks; it renders as its body. */
  | { readonly kind: 'generation'; readonly body: Body; readonly line: number }
  | { readonly kind: 'break' | 'continue'; readonly line: number };

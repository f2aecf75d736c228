/**
 * Who reads which partition: as evenly as possible, with as few moves as possible, never two at once.
 *
 * Cooperative (KIP-429): a partition that has to move is assigned to no one in this round. Its holder sees
 * that it must release it, ends what is under way there, and asks for another round, in which it is free.
 */
export interface Claim {
  readonly memberId: string;
  /** Generation in which it got these; claims from generations before the newest do not count. */
  readonly generation: number;
  readonly partitions: readonly number[];
}

/** Member id to its partitions, ascending. */
export type Assignment = ReadonlyMap<string, readonly number[]>;

export function assign(claims: readonly Claim[], partitions: number): Assignment {
  const members = claims.map(({ memberId }) => memberId).sort();
  const holders = holdersOf(claims, partitions);
  const shares = sharesOf(members, holders, partitions);
  const given = new Map<string, number[]>(members.map((member) => [member, []]));
  const free: number[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    const holder = holders.get(partition);
    if (holder === undefined) free.push(partition);
    // More than its holder's share: the holder must let it go, and no member has it in this round.
    else if (given.get(holder)!.length < shares.get(holder)!) given.get(holder)!.push(partition);
  }
  for (const partition of free) {
    const member = members.find(
      (candidate) => given.get(candidate)!.length < shares.get(candidate)!,
    );
    if (member !== undefined) given.get(member)!.push(partition);
  }
  return new Map([...given].map(([member, list]) => [member, list.sort((a, b) => a - b)]));
}

/** Who holds a partition by right; one that two claim is held by neither. */
function holdersOf(claims: readonly Claim[], partitions: number): ReadonlyMap<number, string> {
  const newest = Math.max(...claims.map(({ generation }) => generation));
  const holders = new Map<number, string>();
  const disputed = new Set<number>();
  for (const { memberId, generation, partitions: claimed } of claims) {
    if (generation < newest) continue;
    for (const partition of claimed) {
      if (partition >= partitions) continue;
      if (holders.has(partition)) disputed.add(partition);
      holders.set(partition, memberId);
    }
  }
  for (const partition of disputed) holders.delete(partition);
  return holders;
}

/** Equal shares; the remainder goes to those that hold most, so that less moves. */
function sharesOf(
  members: readonly string[],
  holders: ReadonlyMap<number, string>,
  partitions: number,
): ReadonlyMap<string, number> {
  const held = (member: string): number =>
    [...holders.values()].filter((holder) => holder === member).length;
  const least = Math.floor(partitions / members.length);
  const over = partitions % members.length;
  const byHolding = [...members].sort((a, b) => held(b) - held(a) || (a < b ? -1 : 1));
  return new Map(byHolding.map((member, i) => [member, least + (i < over ? 1 : 0)]));
}

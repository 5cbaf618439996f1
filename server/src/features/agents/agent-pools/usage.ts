/** What uses a pool, of one kind: the first names that the actor may see, how many these are in all, and how many others. */
export type PoolUsage = { kind: string; names: readonly string[]; seen: number; hidden: number }

/** `the workspaces a, b and 3 more, and the run task scan` */
export function describeUsage(usage: readonly PoolUsage[]) {
  return usage.flatMap((of) => [...seenOf(of), ...hiddenOf(of)]).join(', and ')
}

function seenOf({ kind, names, seen }: PoolUsage) {
  if (seen === 0) return []
  const more = seen > names.length ? ` and ${seen - names.length} more` : ''
  return [`the ${kind}${seen === 1 ? '' : 's'} ${names.join(', ')}${more}`]
}

function hiddenOf({ kind, hidden }: PoolUsage) {
  if (hidden === 0) return []
  return [hidden === 1 ? `a ${kind} that you may not see` : `${hidden} ${kind}s that you may not see`]
}

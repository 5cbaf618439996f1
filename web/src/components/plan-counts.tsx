type Counts = Record<`resource-${'additions' | 'changes' | 'destructions'}`, number | null>
type Plan = { attributes: Counts & { 'resource-imports'?: number | null } }

/** Counts of a plan's changes, "+2 ~4 −0", read out in words. Renders nothing while unknown. */
export function PlanCounts({ plan: { attributes } }: { plan: Plan }) {
  const { 'resource-additions': additions, 'resource-changes': changes, 'resource-imports': imports } = attributes
  const { 'resource-destructions': destructions } = attributes
  if (additions === null || changes === null || destructions === null) return null
  const signs = [
    { text: `+${additions}`, words: `${additions} to create`, look: additions > 0 ? 'text-good' : 'text-dim' },
    { text: `~${changes}`, words: `${changes} to update`, look: changes > 0 ? 'text-warn' : 'text-dim' },
    {
      text: `−${destructions}`,
      words: `${destructions} to destroy`,
      look: destructions > 0 ? 'font-semibold text-bad' : 'text-dim',
    },
    ...(imports ? [{ text: `⇣${imports}`, words: `${imports} to import`, look: 'text-busy' }] : []),
  ]
  const words = signs.map((sign) => sign.words).join(', ')
  return (
    <span className="numeric inline-flex gap-1.5 font-mono text-[0.9285em] whitespace-nowrap" title={words}>
      <span className="sr-only">{words}</span>
      {signs.map(({ text, look }) => (
        <span key={text} aria-hidden="true" className={look}>
          {text}
        </span>
      ))}
    </span>
  )
}

import { Badge } from '../../components/status.tsx'
import { type Candidate, effectOf } from './candidates.ts'

const TONES = { new: 'good', changed: 'warn', unchanged: 'quiet' } as const

type CandidateTableProps = {
  candidates: readonly Candidate[]
  onChange: (candidate: Candidate, changes: Partial<Candidate>) => void
}

/** Preview of an import: each variable can be selected and marked sensitive. */
export function CandidateTable({ candidates, onChange }: CandidateTableProps) {
  return (
    <div className="overflow-x-auto rounded-lg border border-line">
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">Variables to import</caption>
        <thead>
          <tr className="border-b border-line text-dim">
            {['Variable', 'Value', 'Sensitive', 'Status'].map((header) => (
              <th key={header} scope="col" className="px-3 py-2 font-medium">
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {candidates.map((candidate) => (
            <Row
              key={`${candidate.category} ${candidate.key}`}
              candidate={candidate}
              onChange={(changes) => onChange(candidate, changes)}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row({ candidate, onChange }: { candidate: Candidate; onChange: (changes: Partial<Candidate>) => void }) {
  const { key, value, hcl, sensitive, category, before, isSelected, saved } = candidate
  const effect = effectOf(candidate)
  return (
    <tr className="border-b border-line align-top last:border-0">
      <th scope="row" className="px-3 py-1.5 font-normal">
        <label className="flex items-start gap-2">
          <input
            type="checkbox"
            className="mt-1 size-4 accent-accent"
            checked={isSelected}
            disabled={saved === 'done'}
            onChange={(event) => onChange({ isSelected: event.target.checked })}
          />
          <span>
            <span className="font-mono">{key}</span>
            <span className="ml-2 inline-flex gap-1">
              {hcl && <Badge text="HCL" />}
              {category === 'env' && <Badge text="env" />}
            </span>
          </span>
        </label>
      </th>
      <td className="max-w-72 px-3 py-1.5">
        {value === undefined || sensitive ? (
          <input
            type="password"
            aria-label={`Value of ${key}`}
            autoComplete="off"
            placeholder="Enter a value"
            value={value ?? ''}
            onChange={(event) => onChange({ value: event.target.value, isSelected: true })}
            className="h-7 w-full rounded-md border border-line-strong bg-paper px-2 font-mono"
          />
        ) : (
          <div className="max-h-24 overflow-hidden font-mono text-[0.9285rem] whitespace-pre-wrap">
            {effect === 'changed' && before !== null && <del className="block text-bad">{before}</del>}
            <span className={effect === 'changed' ? 'text-good' : ''}>{value}</span>
          </div>
        )}
      </td>
      <td className="px-3 py-1.5">
        <input
          type="checkbox"
          aria-label={`${key} is sensitive`}
          className="size-4 accent-accent"
          checked={sensitive}
          // A sensitive variable remains sensitive.
          disabled={before === null || saved === 'done'}
          onChange={(event) => onChange({ sensitive: event.target.checked })}
        />
      </td>
      <td className="px-3 py-1.5">
        {saved === undefined || saved === 'done' ? (
          <Badge tone={saved ? 'good' : TONES[effect]} text={saved ? 'saved' : effect} />
        ) : (
          <span role="alert" className="text-bad">
            {saved}
          </span>
        )}
      </td>
    </tr>
  )
}

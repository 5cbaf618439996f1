import type { PolicyOutcome } from '@groundstate/contract/policies'
import { Badge, StatusText } from '../../../components/status.tsx'
import { POLICY_STYLE } from './policy-text.ts'

/** The result of a policy, with the source of its rule. */
export function PolicyItem({ policy }: { policy: PolicyOutcome }) {
  const { status, enforcement_level: level, output, omitted } = policy
  const isAdvisory = level === 'advisory' && status !== 'passed'
  return (
    <li className="px-3 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="min-w-0 font-medium wrap-anywhere">{policy.policy_name}</span>
        <Badge text={level} />
        <code className="min-w-0 text-xs wrap-anywhere text-dim">{policy.query}</code>
        <span className="ml-auto">
          <StatusText
            {...POLICY_STYLE[isAdvisory ? 'advisory' : status]}
            text={isAdvisory ? `${status}, advisory` : status}
          />
        </span>
      </div>
      {policy.error === null && policy.description !== '' && <p className="text-dim">{policy.description}</p>}
      {policy.error !== null && <p className="mt-1 whitespace-pre-line text-bad">{policy.error}</p>}
      {output.length > 0 && (
        <ul className="mt-1 list-disc pl-5">
          {output.map(({ print }, index) => (
            // oxlint-disable-next-line react/no-array-index-key -- a policy may repeat an element
            <li key={index} className="whitespace-pre-line wrap-anywhere">
              {print}
            </li>
          ))}
        </ul>
      )}
      {omitted > 0 && <p className="text-dim">and {omitted.toLocaleString('en')} more</p>}
    </li>
  )
}

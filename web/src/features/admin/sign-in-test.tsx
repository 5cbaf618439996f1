import type { SignInCheck } from '@groundstate/contract/sign-in-settings'
import { Notice } from '../../components/feedback.tsx'
import { OUTCOME_STYLE, StatusText } from '../../components/status.tsx'
import type { SignInTest } from './sign-in.ts'

const CHECKS = {
  discovery: 'Discovery document',
  issuer: 'Issuer',
  endpoints: 'Endpoints and scopes',
  keys: 'Signing keys',
  'redirect-uri': 'Redirect URI',
  client: 'Client ID and secret',
} as const satisfies Record<SignInCheck, string>

const STATUSES = {
  passed: { ...OUTCOME_STYLE.done, text: 'OK' },
  warning: { ...OUTCOME_STYLE.warning, text: 'Check' },
  failed: { ...OUTCOME_STYLE.failed, text: 'Failed' },
  skipped: { ...OUTCOME_STYLE.skipped, text: 'Not checked' },
} as const

/** The steps of a test, each with what to do. */
export function TestResult({ test: { passed, checks } }: { test: SignInTest }) {
  return (
    <section aria-label="Test result" className="space-y-3">
      <Notice tone={passed ? 'good' : 'bad'} role="status">
        {passed ? 'The provider is reachable and accepts this server.' : 'Sign-in would fail. What to do:'}
      </Notice>
      <ul className="divide-y divide-line rounded-md border border-line">
        {checks.map(({ name, status, detail, advice }) => {
          const { text, ...style } = STATUSES[status]
          return (
            <li key={name} className="flex flex-wrap gap-x-4 gap-y-1 px-3 py-2">
              <span className="w-28 shrink-0">
                <StatusText {...style} text={text} />
              </span>
              <div className="min-w-0 flex-1 basis-60">
                <p className="font-medium">{CHECKS[name]}</p>
                <p className="wrap-anywhere text-dim">{detail}</p>
                {advice !== null && <p className="wrap-anywhere">{advice}</p>}
              </div>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

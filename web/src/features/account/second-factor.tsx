import type { ReactNode } from 'react'
import { Card } from '../../components/card.tsx'
import { AttributesForm } from '../../components/form.tsx'
import { Badge } from '../../components/status.tsx'
import { useSecondFactor } from './account.ts'

const PASSWORD = {
  label: 'Password',
  name: 'password',
  type: 'password',
  autoComplete: 'current-password',
  required: true,
} as const
const CODE = {
  label: 'Code of your authenticator',
  name: 'otp',
  autoComplete: 'one-time-code',
  autoCapitalize: 'none',
  required: true,
} as const
const ANY_CODE = { ...CODE, label: 'Code of your authenticator, or a recovery code' }

export function SecondFactor({ enabled }: { enabled: boolean }) {
  const { enroll, verify, renew, disable } = useSecondFactor()
  const codes = (renew.data ?? verify.data)?.['recovery-codes']
  return (
    <Card
      title="Second factor"
      about="With it, signing in with your password asks for a code of an authenticator app too."
    >
      <p className="mt-3">{enabled ? <Badge tone="good">on</Badge> : <Badge tone="quiet">off</Badge>}</p>
      {codes && <RecoveryCodes codes={codes} />}
      {!enabled && !enroll.data && (
        <AttributesForm
          fields={[PASSWORD]}
          action="Set up a second factor"
          error={enroll.error}
          isPending={enroll.isPending}
          onSubmit={(values) => enroll.mutate(values)}
        />
      )}
      {!enabled && enroll.data && (
        <>
          <Enrollment {...enroll.data} />
          <AttributesForm
            fields={[CODE]}
            action="Switch on"
            kind="primary"
            error={verify.error}
            isPending={verify.isPending}
            onSubmit={(values) => verify.mutate(values)}
          />
        </>
      )}
      {enabled && (
        <>
          <Fold title="New recovery codes">
            <AttributesForm
              fields={[PASSWORD, ANY_CODE]}
              action="Replace the recovery codes"
              error={renew.error}
              isPending={renew.isPending}
              onSubmit={(values, reset) => renew.mutate(values, { onSuccess: reset })}
            />
          </Fold>
          <Fold title="Switch off">
            <AttributesForm
              fields={[PASSWORD, ANY_CODE]}
              action="Switch off the second factor"
              kind="danger"
              error={disable.error}
              isPending={disable.isPending}
              onSubmit={(values) => disable.mutate(values)}
            />
          </Fold>
        </>
      )}
    </Card>
  )
}

function Enrollment({ secret, uri }: { secret: string; uri: string }) {
  return (
    <div className="mt-4 space-y-3">
      <p>Give this secret to your authenticator app, as a time-based one, and enter the code that it shows then.</p>
      <code aria-label="Secret" className="block text-base tracking-wide select-all">
        {secret.match(/.{1,4}/g)?.join(' ')}
      </code>
      <p>
        On a device that has the app:{' '}
        <a href={uri} className="font-mono text-xs break-all text-accent underline">
          {uri}
        </a>
      </p>
    </div>
  )
}

function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  return (
    <div role="status" className="mt-4 max-w-md rounded-md border border-good/30 bg-good-soft px-4 py-3">
      <p>
        Keep these recovery codes: they are shown this once. Each signs you in one time when you have no authenticator.
      </p>
      <ul aria-label="Recovery codes" className="mt-2 grid grid-cols-2 gap-1 font-mono select-all">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
    </div>
  )
}

function Fold({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className="mt-4">
      <summary className="cursor-pointer font-medium">{title}</summary>
      {children}
    </details>
  )
}

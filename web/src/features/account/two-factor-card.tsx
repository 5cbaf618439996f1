import { type ReactNode, useMemo } from 'react'
import { encode } from 'uqr'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { AttributesForm } from '../../components/form.tsx'
import { Badge } from '../../components/status.tsx'
import { passwordField, useTwoFactor } from './account.ts'

const PASSWORD = passwordField('Password', 'password', 'current-password')
const CODE = {
  label: 'Authenticator code',
  name: 'otp',
  autoComplete: 'one-time-code',
  autoCapitalize: 'none',
  required: true,
} as const
const ANY_CODE = { ...CODE, label: 'Authenticator or recovery code' }

export function TwoFactorCard({ enabled }: { enabled: boolean }) {
  const { enroll, verify, renew, disable } = useTwoFactor()
  const codes = (renew.data ?? verify.data)?.['recovery-codes']
  return (
    <Card
      title="Two-factor authentication"
      about="Signing in with your password then also requires a code from an authenticator app."
      actions={<Badge tone={enabled ? 'good' : 'quiet'} text={enabled ? 'enabled' : 'disabled'} />}
    >
      <div className="space-y-4">
        {codes && <RecoveryCodes codes={codes} />}
        {!enabled && !enroll.data && (
          <AttributesForm fields={[PASSWORD]} action="Set up two-factor authentication" mutation={enroll} />
        )}
        {!enabled && enroll.data && (
          <>
            <Enrollment {...enroll.data} />
            <AttributesForm fields={[CODE]} action="Enable" kind="primary" mutation={verify} />
          </>
        )}
        {enabled && (
          <>
            <Fold title="New recovery codes">
              <AttributesForm fields={[PASSWORD, ANY_CODE]} action="Replace recovery codes" mutation={renew} />
            </Fold>
            <Fold title="Disable">
              <AttributesForm
                fields={[PASSWORD, ANY_CODE]}
                action="Disable two-factor authentication"
                kind="danger"
                mutation={disable}
              />
            </Fold>
          </>
        )}
      </div>
    </Card>
  )
}

function Enrollment({ secret, uri }: { secret: string; uri: string }) {
  return (
    <div className="grid items-center gap-4 sm:grid-cols-[auto_1fr]">
      <QrCode text={uri} label="The secret as a QR code" />
      <div className="space-y-3">
        <p>Scan this code with your authenticator app, then enter the code it displays.</p>
        <p>
          Can’t scan it? Enter this secret in the app as a time-based key:
          <span className="mt-1 flex items-center gap-1">
            <code aria-label="Secret" className="tracking-wide select-all">
              {secret.match(/.{1,4}/g)?.join(' ')}
            </code>
            <CopyButton text={secret} label="Copy the secret" />
          </span>
        </p>
        <p>
          <a href={uri} className="text-accent underline">
            Open an app on this device
          </a>
        </p>
      </div>
    </div>
  )
}

/** Dark on light in both themes, as scanners require. */
function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => {
    const { data, size: modules } = encode(text, { border: 2 })
    const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    return { size: modules, path: squares.join('') }
  }, [text])
  return (
    <svg viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} className="size-44 rounded-md bg-white">
      <path d={path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  )
}

function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  return (
    <div role="status" className="max-w-md rounded-md border border-good/30 bg-good-soft px-4 py-3">
      <p>
        Save these recovery codes now: they are shown only once. Each of them replaces an authenticator code one time.
      </p>
      <ul aria-label="Recovery codes" className="mt-2 grid grid-cols-2 gap-1 font-mono select-all">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="mt-2">
        <CopyButton text={codes.join('\n')} label="Copy the recovery codes" isIcon={false} />
      </div>
    </div>
  )
}

function Fold({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details>
      <summary className="font-medium">{title}</summary>
      <div className="mt-3">{children}</div>
    </details>
  )
}

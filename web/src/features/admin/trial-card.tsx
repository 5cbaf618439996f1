import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { serverPath } from '../../api/base.ts'
import { invalidate } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { Notice, loaded } from '../../components/feedback.tsx'
import { Badge, OUTCOME_STYLE, StatusText } from '../../components/status.tsx'
import { type SignInTrial, useTrial } from './sign-in.ts'

/** A trial sign-in: in progress in another tab, or what the provider reported. */
export function TrialCard({ id }: { id: string }) {
  const { data: trial, fallback } = loaded(useTrial(id), { rows: 2 })
  const status = trial?.attributes.status
  const card = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // It is below a long form.
    card.current?.scrollIntoView({ block: 'nearest' })
    // A successful trial of an administrator allows to disable passwords.
    if (status === 'succeeded') void invalidate(['sign-in-settings'])
  }, [status])
  return (
    <div ref={card}>
      <Card
        title="Trial sign-in"
        about="No account was changed."
        actions={
          status !== 'pending' && (
            <Link to="/app/admin/sign-in" search={{}} className={buttonClass({ kind: 'quiet', size: 'small' })}>
              Close
            </Link>
          )
        }
      >
        {trial ? <TrialState trial={trial} /> : fallback}
      </Card>
    </div>
  )
}

function TrialState({ trial: { attributes } }: { trial: SignInTrial }) {
  const { status, url, result } = attributes
  if (status === 'expired') return <Notice tone="warn">The trial has expired: start another one.</Notice>
  if (!result) {
    return (
      <div role="status" className="space-y-2">
        <StatusText {...OUTCOME_STYLE.running} isBusy text="Waiting for the sign-in in the other tab" />
        <p>
          <a href={serverPath(url)} target="_blank" rel="noopener" className="text-accent underline">
            Open the provider
          </a>{' '}
          if no tab was opened.
        </p>
      </div>
    )
  }
  if (result.error !== null) {
    return (
      <Notice tone="bad" role="alert">
        {result.error}
      </Notice>
    )
  }
  return <Reported result={result} provesSignIn={attributes['proves-sign-in']} />
}

type Result = NonNullable<SignInTrial['attributes']['result']>
type Account = NonNullable<Result['account']>

function Reported({ result, provesSignIn }: { result: Result; provesSignIn: boolean }) {
  const { subject, email, groups, teams, account, claims } = result
  return (
    <div className="space-y-4">
      <Notice tone={account?.outcome === 'refuse' ? 'bad' : 'good'} role="status">
        {account && outcomeText(account)}
        {provesSignIn && ' An administrator signed in, so passwords can now be disabled.'}
      </Notice>
      <DescriptionList
        facts={[
          [
            'Subject',
            <span key="subject" className="font-mono wrap-anywhere">
              {subject}
            </span>,
          ],
          [
            'Email',
            email === null ? (
              'none reported'
            ) : (
              <span key="email" className="inline-flex flex-wrap items-center gap-2">
                {email}
                {result['email-verified'] ? (
                  <Badge tone="good" text="verified" />
                ) : (
                  <Badge tone="warn" text="not verified" />
                )}
              </span>
            ),
          ],
          ['Groups', groups === null ? 'omitted by the provider: too many' : groups.join(', ') || 'none reported'],
          [
            'Teams',
            teams.length === 0
              ? 'no group maps to a team'
              : teams.map(({ name, organization }) => `${name} (${organization})`).join(', '),
          ],
        ]}
      />
      <details>
        <summary className="cursor-pointer font-medium">All claims</summary>
        <div className="mt-2">
          <CodeBlock label="the claims" code={JSON.stringify(claims, null, 2)} />
        </div>
      </details>
    </div>
  )
}

function outcomeText({ outcome, username, 'is-suspended': isSuspended, 'is-admin': isAdmin }: Account) {
  const name = isAdmin ? `${username}, an administrator` : username
  switch (outcome) {
    case 'sign-in':
      return `This user would sign in as ${name}.`
    case 'link':
      return `This user would sign in as ${name}: the verified address links the account, which then has no password.`
    case 'create':
      return `This user is new: the first sign-in creates the account ${username}.`
    case 'refuse':
      return isSuspended
        ? `The account ${username} is suspended, so the sign-in would fail.`
        : `The account ${username} with this address belongs to another user of the provider, so the sign-in would fail.`
    default:
      return ''
  }
}

import type { ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { loaded } from '../../components/feedback.tsx'
import { formValues } from '../../components/form.tsx'
import { InlineForm, useInlineForm } from '../../components/inline-form.tsx'
import { Secret } from '../../components/secret.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { Expiry, ExpiryField, LastUsed } from './token-parts.tsx'
import { type SingleKind, expiryAfter, revokeToken, useCreateSingleToken, useSingleToken } from './tokens.ts'

/** The two tokens of an organization, one of each kind. */
export function OrganizationTokens({ organization }: { organization: string }) {
  return (
    <>
      <SingleToken
        organization={organization}
        kind="organization"
        title="Organization token"
        about="Manages teams, members, projects, workspaces and settings, and starts no runs. For provisioning the organization."
      />
      <SingleToken
        organization={organization}
        kind="audit-trails"
        title="Audit trail token"
        about={
          <>
            Reads the audit trail and nothing else. For a log collector.{' '}
            <DocsLink page="audit" anchor="read-the-events">
              Read the audit trail
            </DocsLink>
          </>
        }
      />
    </>
  )
}

type SingleTokenProps = { organization: string; kind: SingleKind; title: string; about: ReactNode }

function SingleToken({ organization, kind, title, about }: SingleTokenProps) {
  const query = useSingleToken(organization, kind)
  const { data: token, fallback } = loaded(query, { rows: 1 })
  const create = useCreateSingleToken(organization, kind)
  const { isOpen, opener, open, close } = useInlineForm()
  const secret = create.data?.data.attributes.token
  const name = title.toLowerCase()
  const label = token ? 'Replace' : 'Create token'
  return (
    <Card
      title={title}
      about={about}
      actions={
        token !== undefined &&
        !isOpen && <Button ref={opener} aria-label={`${label}: ${name}`} label={label} onClick={open} />
      }
    >
      <div className="space-y-4">
        {isOpen && (
          <InlineForm
            action={token ? 'Replace token' : 'Create token'}
            mutation={create}
            onCancel={() => close()}
            onSubmit={(element) =>
              create.mutate(
                { 'expired-at': expiryAfter(formValues(element)['days'] ?? '') },
                { onSuccess: () => close() },
              )
            }
          >
            {token && <p className="text-bad">The current token stops working immediately.</p>}
            <ExpiryField />
          </InlineForm>
        )}
        {secret != null && (
          <Secret
            kind="token"
            text={secret}
            actions={<Button size="small" label="Done" onClick={() => create.reset()} />}
          />
        )}
        {token === undefined && fallback}
        {token === null && <p className="text-dim">No token yet.</p>}
        {token && (
          <>
            <DescriptionList
              facts={[
                ['Created', <RelativeTime key="created" at={token.attributes['created-at']} />],
                ['Last used', <LastUsed key="used" at={token.attributes['last-used-at']} />],
                ['Expires', <Expiry key="expires" at={token.attributes['expired-at']} />],
              ]}
            />
            <Confirm
              label="Revoke"
              size="small"
              title={`Revoke the ${name}?`}
              consequence="Everything that uses it stops working immediately."
              action="Revoke token"
              done="Token revoked"
              onConfirm={async () => revokeToken(token.id)}
            />
          </>
        )}
      </div>
    </Card>
  )
}

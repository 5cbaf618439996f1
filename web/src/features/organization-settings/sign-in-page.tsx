import { Link } from '@tanstack/react-router'
import { Card } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { Notice } from '../../components/feedback.tsx'
import { CheckField, TextField } from '../../components/form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { useSession, useSignInMethods } from '../session/session.ts'
import {
  type Organization,
  useOpenOrganization,
  useUnsecuredMembers,
  useUpdateOrganization,
} from './organization-settings.ts'

const LINK = 'text-accent underline'

export function OrganizationSignInPage() {
  const { name, data, fallback } = useOpenOrganization()
  return (
    <Page title="Sign-in" actions={<CopyCurl path={`/organizations/${name}`} />}>
      {data ? (
        <div className="grid gap-4">
          <TwoFactor organization={data} />
          <Sessions organization={data} />
          <Tokens organization={data} />
          <SingleSignOn organization={data} />
        </div>
      ) : (
        fallback
      )}
    </Page>
  )
}

function TwoFactor({ organization: { id: name, attributes } }: { organization: Organization }) {
  const update = useUpdateOrganization(name)
  const { data: account } = useSession()
  const isRequired = attributes['collaborator-auth-policy'] === 'two_factor_mandatory'
  const draft = useDraft({ 'collaborator-auth-policy': isRequired })
  const isTurnedOn = draft.values['collaborator-auth-policy'] && !isRequired
  const lacksOwn =
    account !== null && account?.attributes['two-factor'].enabled === false && !account.attributes['is-sso-login']
  const { disabled, hint } =
    lacksOwn && !isRequired
      ? {
          disabled: true,
          hint: (
            <>
              You would lock yourself out:{' '}
              <Link to="/app/settings/account" className={LINK}>
                set up yours
              </Link>{' '}
              first.
            </>
          ),
        }
      : {
          disabled: false,
          hint: 'Members who sign in with a password and have none can’t open the organization until they enable it. Single sign-on is not affected.',
        }
  return (
    <SettingsForm
      title="Two-factor authentication"
      readOnly={
        !attributes.permissions['can-update'] && (isRequired ? 'Required for all members.' : 'Optional for members.')
      }
      names={['collaborator-auth-policy']}
      draft={draft}
      onSave={async () =>
        update.mutateAsync({
          attributes: {
            'collaborator-auth-policy': draft.values['collaborator-auth-policy'] ? 'two_factor_mandatory' : 'password',
          },
        })
      }
    >
      <CheckField
        label="Require two-factor authentication"
        hint={hint}
        disabled={disabled}
        {...draft.check('collaborator-auth-policy')}
      />
      {attributes.permissions['can-view-users'] && (isTurnedOn || isRequired) && (
        <Unsecured organization={name} isRequired={isRequired} />
      )}
    </SettingsForm>
  )
}

/** The members who are locked out, or would be. */
function Unsecured({ organization, isRequired }: { organization: string; isRequired: boolean }) {
  const { data } = useUnsecuredMembers(organization, true)
  if (!data) return null
  if (data.total === 0) return <Notice tone="good">All members who sign in with a password have it.</Notice>
  const rest = data.total - data.members.length
  return (
    <Notice tone="warn" role="status">
      <p className="font-medium">
        {counted(data.total, 'member')}{' '}
        {isRequired ? 'can’t open the organization now' : 'will be locked out until they enable it'}:
      </p>
      <p>
        {data.members.map(({ id, username }, index) => (
          <span key={id}>
            {index > 0 && ', '}
            <TargetLink
              leadsTo={{ to: '/app/$organization/members/$member', params: { organization, member: id } }}
              className="underline"
            >
              {username}
            </TargetLink>
          </span>
        ))}
        {rest > 0 && ` and ${rest.toLocaleString('en')} more`}
      </p>
    </Notice>
  )
}

function Sessions({ organization: { id: name, attributes } }: { organization: Organization }) {
  const update = useUpdateOrganization(name)
  const { 'session-timeout': timeout, 'session-remember': age } = attributes
  const draft = useDraft({ 'session-timeout': minutesText(timeout), 'session-remember': minutesText(age) })
  return (
    <SettingsForm
      title="Sessions"
      about="Older sessions must sign in again to open this organization. API tokens are not affected."
      readOnly={
        !attributes.permissions['can-update'] && `Idle timeout: ${limitText(timeout)}. Maximum age: ${limitText(age)}.`
      }
      names={['session-timeout', 'session-remember']}
      draft={draft}
      onSave={async () =>
        update.mutateAsync({
          attributes: {
            'session-timeout': minutes(draft.values['session-timeout']),
            'session-remember': minutes(draft.values['session-remember']),
          },
        })
      }
    >
      <TextField
        label="Idle timeout in minutes"
        hint="Empty: two weeks, the limit of the server."
        type="number"
        min={1}
        className="w-36!"
        {...draft.text('session-timeout')}
      />
      <TextField
        label="Maximum age in minutes"
        hint="Empty: one month, the limit of the server."
        type="number"
        min={1}
        className="w-36!"
        {...draft.text('session-remember')}
      />
    </SettingsForm>
  )
}

function minutesText(value: number | null) {
  return value === null ? '' : String(value)
}

function minutes(text: string) {
  return text === '' ? null : Number(text)
}

function limitText(value: number | null) {
  return value === null ? 'that of the server' : counted(value, 'minute')
}

function Tokens({ organization: { id: name, attributes } }: { organization: Organization }) {
  const update = useUpdateOrganization(name)
  const draft = useDraft({ 'user-tokens-enabled': attributes['user-tokens-enabled'] })
  const isTurnedOff = !draft.values['user-tokens-enabled'] && attributes['user-tokens-enabled']
  return (
    <SettingsForm
      title="Members’ API tokens"
      readOnly={
        !attributes.permissions['can-update'] &&
        (attributes['user-tokens-enabled'] ? 'Accepted.' : 'Rejected: programs use team tokens.')
      }
      names={['user-tokens-enabled']}
      draft={draft}
      onSave={async () => update.mutateAsync({ attributes: draft.changed })}
    >
      <CheckField
        label="Accept members’ API tokens"
        hint="If off, programs and CLIs need a team token. Browsers are not affected."
        {...draft.check('user-tokens-enabled')}
      />
      {isTurnedOff && (
        <Notice tone="warn" role="status">
          CLIs and scripts with a member’s token stop working here, including those of owners.{' '}
          <TargetLink
            leadsTo={{ to: '/app/$organization/settings/tokens', params: { organization: name } }}
            className="underline"
          >
            Check the team tokens
          </TargetLink>{' '}
          first.
        </Notice>
      )}
    </SettingsForm>
  )
}

function SingleSignOn({ organization: { id: name, attributes } }: { organization: Organization }) {
  const { data: methods } = useSignInMethods()
  const { data: account } = useSession()
  const update = useUpdateOrganization(name)
  const draft = useDraft({ 'owners-team-saml-role-id': attributes['owners-team-saml-role-id'] ?? '' })
  if (!methods) return null
  const { sso } = methods
  const state = (
    <p>
      {sso === null ? 'Not configured on this server.' : `Members can sign in with ${sso.name}.`}{' '}
      {account?.attributes['is-site-admin'] ? (
        <Link to="/app/admin/sign-in" className={LINK}>
          {sso === null ? 'Configure single sign-on' : 'Change single sign-on'}
        </Link>
      ) : (
        'A site administrator configures it for the whole server.'
      )}{' '}
      ·{' '}
      <DocsLink page="sign-in" anchor="map-groups-to-teams">
        How groups become teams
      </DocsLink>
    </p>
  )
  if (sso === null || !attributes.permissions['can-update']) return <Card title="Single sign-on">{state}</Card>
  return (
    <SettingsForm
      title="Single sign-on"
      about={state}
      names={['owners-team-saml-role-id']}
      draft={draft}
      onSave={async () =>
        update.mutateAsync({
          attributes: { 'owners-team-saml-role-id': draft.values['owners-team-saml-role-id'].trim() || null },
        })
      }
    >
      <TextField
        label="Owners group"
        hint="Group of the provider whose members are owners. Other groups are set on the pages of their teams."
        {...draft.text('owners-team-saml-role-id')}
      />
    </SettingsForm>
  )
}

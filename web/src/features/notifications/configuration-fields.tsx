import type { DestinationType, Trigger } from '@groundstate/contract/notification-configurations'
import type { ReactNode } from 'react'
import { DocsLink } from '../../components/docs-link.tsx'
import { Notice } from '../../components/feedback.tsx'
import { CODE_INPUT, CheckField, TextArea, TextField } from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { PickList } from '../../components/pick-list.tsx'
import { errorAt, type useDraft } from '../../components/settings-form.tsx'
import { findMembers } from '../members/members.ts'
import type { ConfigurationValues } from './configuration-form.ts'
import { DESTINATIONS, DESTINATION_TYPES } from './destinations.ts'
import { type Owner, type Recipient, useNotificationSettings } from './notifications.ts'
import { TRIGGERS, isSilent } from './triggers.ts'

type Draft = ReturnType<typeof useDraft<ConfigurationValues>>

export const USERS_POINTER = /^\/data\/relationships\/users/
export const TRIGGERS_POINTER = /^\/data\/attributes\/triggers/
export const ADDRESSES_POINTER = /^\/data\/attributes\/email-addresses/

/** The choice of a destination, which cannot be changed later. */
export function DestinationField({ draft }: { draft: Draft }) {
  return (
    <fieldset>
      <legend className="font-medium">Destination</legend>
      <div className="mt-1 grid gap-2 sm:grid-cols-2">
        {DESTINATION_TYPES.map((type) => {
          const { text, about, icon: Icon } = DESTINATIONS[type]
          return (
            <label
              key={type}
              className="flex cursor-pointer items-start gap-2 rounded-md border border-line px-3 py-2 has-checked:border-accent has-checked:bg-accent-soft"
            >
              <input
                type="radio"
                name="destination"
                value={type}
                checked={draft.values.type === type}
                onChange={() => draft.set({ type })}
                className="mt-0.5 size-4 shrink-0 accent-accent"
              />
              <span className="min-w-0">
                <span className="flex items-center gap-1.5 font-medium">
                  <Icon size={15} className="text-dim" />
                  {text}
                </span>
                <span className="block text-dim">{about}</span>
              </span>
            </label>
          )
        })}
      </div>
      <FieldAlert text={errorAt(draft.error, '/data/attributes/destination-type')} />
    </fieldset>
  )
}

/** How to set up the other side. */
const GUIDES = {
  slack: (
    <DocsLink page="notifications" anchor="slack">
      Set up Slack
    </DocsLink>
  ),
  'microsoft-teams': (
    <DocsLink page="notifications" anchor="microsoft-teams">
      Set up Microsoft Teams
    </DocsLink>
  ),
  email: (
    <DocsLink page="notifications" anchor="e-mail">
      Set up email
    </DocsLink>
  ),
  generic: (
    <DocsLink page="notifications" anchor="webhook">
      Write a receiver
    </DocsLink>
  ),
} as const satisfies Record<DestinationType, ReactNode>

type AddressFieldsProps = {
  owner: Owner
  draft: Draft
  hasToken: boolean
  recipients: readonly Recipient[]
  onRecipients: (recipients: readonly Recipient[]) => void
}

/** The address of the destination: a URL, or people. */
export function AddressFields({ draft, hasToken, ...mail }: AddressFieldsProps) {
  const { type, isTokenRemoved } = draft.values
  const destination = DESTINATIONS[type]
  if (!('url' in destination)) return <MailFields draft={draft} {...mail} />
  const { label, placeholder, hint } = destination.url
  return (
    <>
      <TextField
        label={label}
        type="url"
        placeholder={placeholder}
        hint={
          <>
            {hint} {GUIDES[type]}
          </>
        }
        {...draft.text('url')}
        {...CODE_INPUT}
      />
      {type === 'generic' && (
        <TextField
          label={hasToken ? 'New token' : 'Token (optional)'}
          type="password"
          placeholder={hasToken ? 'Unchanged' : ''}
          hint={
            <>
              {hasToken ? 'A token is set. It' : 'Signs each request. It'} can’t be shown again.{' '}
              <DocsLink page="notifications" anchor="webhook">
                Check the signature
              </DocsLink>
            </>
          }
          disabled={isTokenRemoved}
          {...draft.text('token')}
          {...CODE_INPUT}
          autoComplete="new-password"
        />
      )}
      {type === 'generic' && hasToken && (
        <CheckField
          label="Remove the token"
          hint="Requests will no longer be signed."
          checked={isTokenRemoved}
          onChange={({ target }) => draft.set({ isTokenRemoved: target.checked, ...(target.checked && { token: '' }) })}
        />
      )}
    </>
  )
}

function MailFields({ owner, draft, recipients, onRecipients }: Omit<AddressFieldsProps, 'hasToken'>) {
  const { organization, kind } = owner
  const { data: settings } = useNotificationSettings()
  const chosen = new Set(recipients.map(({ id }) => id))
  return (
    <>
      {settings?.['has-mail-server'] === false && (
        <Notice tone="warn">
          This server sends no mail yet: a site administrator sets up a mail server first.{' '}
          <DocsLink page="operations" anchor="send-mail">
            Send mail
          </DocsLink>
        </Notice>
      )}
      <div>
        <p className="mb-1 font-medium">Recipients</p>
        <PickList
          label="Recipients"
          items={recipients.map(({ id, name }) => ({
            id,
            text: name,
            link: { to: '/app/$organization/members', params: { organization }, search: { q: name } },
          }))}
          none={NOBODY[kind]}
          mayChange
          addLabel="Add member"
          removeLabel={(name) => `Remove ${name}`}
          placeholder="Name or address"
          about={['organization-memberships', organization, 'recipients', [...chosen].join()]}
          load={async (text, signal) =>
            (await findMembers(organization, text, signal)).flatMap(({ userId, username, attributes }) =>
              userId === undefined || username === undefined || chosen.has(userId)
                ? []
                : [{ value: userId, text: username, about: attributes.email ?? undefined }],
            )
          }
          onAdd={({ id, text }) => onRecipients([...recipients, { id, name: text }])}
          onRemove={({ id }) => onRecipients(recipients.filter((each) => each.id !== id))}
        />
        <FieldAlert text={errorAt(draft.error, '/data/relationships/users')} />
      </div>
      {kind !== 'workspaces' && recipients.length > 0 && (
        <CheckField
          label="All members"
          hint="In addition to the recipients above."
          {...draft.check('isForAllMembers')}
        />
      )}
      <TextArea
        label="Addresses (optional)"
        hint={
          settings?.['allows-other-addresses'] === false
            ? 'One per line, of members of the organization. Others need the permission of the site administrators.'
            : 'One per line.'
        }
        rows={2}
        {...draft.text('addresses', 'email-addresses')}
        error={errorAt(draft.error, '/data/attributes/email-addresses')}
        {...CODE_INPUT}
      />
    </>
  )
}

/** The recipients if no one is named. */
const NOBODY = {
  workspaces: 'Nobody yet.',
  projects: 'All members of the project’s teams, unless you select some.',
  teams: 'All members of the team, unless you select some.',
} as const

export function TriggerFields({ draft, offered }: { draft: Draft; offered: readonly Trigger[] }) {
  const isRun = (trigger: Trigger) => trigger.startsWith('run:')
  const groups = [
    { legend: 'Events of runs', triggers: offered.filter(isRun) },
    { legend: 'Other events', triggers: offered.filter((trigger) => !isRun(trigger)) },
  ].filter(({ triggers }) => triggers.length > 0)
  return (
    <>
      {groups.map(({ legend, triggers }) => (
        <fieldset key={legend}>
          <legend className="font-medium">{groups.length > 1 ? legend : 'Events'}</legend>
          <div className="mt-1 grid gap-x-6 gap-y-1.5 sm:grid-cols-2">
            {triggers.map((trigger) => (
              <CheckField
                key={trigger}
                label={TRIGGERS[trigger].text}
                hint={
                  isSilent(trigger)
                    ? `${TRIGGERS[trigger].about} This server does not report it yet.`
                    : TRIGGERS[trigger].about
                }
                {...draft.check(trigger)}
                error={undefined}
              />
            ))}
          </div>
        </fieldset>
      ))}
      <FieldAlert text={errorAt(draft.error, '/data/attributes/triggers')} />
    </>
  )
}

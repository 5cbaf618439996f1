import type { OwnRunTrigger } from '@groundstate/contract/notification-settings'
import { PowerOff } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { Notice, loaded } from '../../components/feedback.tsx'
import { CheckField } from '../../components/form.tsx'
import { type Target, TargetLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import {
  type NotificationSettings,
  useNotificationSettings,
  useUpdateNotificationSettings,
} from '../notifications/notifications.ts'
import { TRIGGERS, triggersText } from '../notifications/triggers.ts'
import { useSession } from '../session/session.ts'

/** The events of their own runs that users may get by mail. */
const OWN_RUN_TRIGGERS: readonly OwnRunTrigger[] = ['run:needs_attention', 'run:completed', 'run:errored']

/** The mails that the user receives. */
export function NotificationsPage() {
  const { data: settings, fallback } = loaded(useNotificationSettings(), { label: 'Loading the notifications' })
  return (
    <Page title="Notifications" actions={<CopyCurl path="/account/notification-settings" />}>
      {settings ? <Settings settings={settings} /> : fallback}
    </Page>
  )
}

function Settings({ settings }: { settings: NotificationSettings }) {
  const address = useSession().data?.attributes.email ?? null
  return (
    <div className="space-y-4">
      {!settings['has-mail-server'] && (
        <Notice tone="warn">
          This server sends no mail yet. What you choose here applies once a site administrator has set up a mail
          server.{' '}
          <DocsLink page="operations" anchor="send-mail">
            Send mail
          </DocsLink>
        </Notice>
      )}
      {address === null && <Notice tone="warn">Your account has no email address, so you receive no mail.</Notice>}
      <Mails settings={settings} address={address} />
      <Card title="Sent to you" about="The notifications of workspaces, projects and teams that send mail to you.">
        {settings.configurations.length === 0 ? (
          <p className="text-dim">None.</p>
        ) : (
          <Table label="Notifications sent to you" rows={settings.configurations} columns={COLUMNS} />
        )}
      </Card>
    </div>
  )
}

type MailsProps = { settings: NotificationSettings; address: string | null }

function Mails({ settings, address }: MailsProps) {
  const update = useUpdateNotificationSettings()
  const own = settings['own-run-triggers']
  const selection = Object.fromEntries(OWN_RUN_TRIGGERS.map((name) => [name, own.includes(name)]))
  const draft = useDraft<Record<OwnRunTrigger | 'configured', boolean>>({
    ...(selection as Record<OwnRunTrigger, boolean>),
    configured: settings['configured-mails'],
  })
  return (
    <SettingsForm
      title="Email"
      about={
        <>
          {address !== null && `Sent to ${address}. `}
          <DocsLink page="notifications" anchor="e-mail">
            Notifications
          </DocsLink>
        </>
      }
      names={['own-run-triggers', 'configured-mails']}
      draft={draft}
      onSave={async () =>
        update.mutateAsync({
          'own-run-triggers': OWN_RUN_TRIGGERS.filter((name) => draft.values[name]),
          'configured-mails': draft.values.configured,
        })
      }
      done="Notifications saved"
    >
      <fieldset>
        <legend className="font-medium">Runs that you started</legend>
        <div className="mt-1 space-y-1.5">
          {OWN_RUN_TRIGGERS.map((name) => (
            <CheckField key={name} label={TRIGGERS[name].text} hint={TRIGGERS[name].about} {...draft.check(name)} />
          ))}
        </div>
      </fieldset>
      <fieldset>
        <legend className="font-medium">Other runs</legend>
        <div className="mt-1">
          <CheckField
            label="Notifications sent to you"
            hint="Set up by others for workspaces, projects and teams. They are listed below."
            {...draft.check('configured')}
          />
        </div>
      </fieldset>
    </SettingsForm>
  )
}

type Named = NotificationSettings['configurations'][number]

const COLUMNS: readonly Column<Named>[] = [
  {
    header: 'Name',
    cell: (named) => (
      <span className="flex flex-wrap items-center gap-2">
        <TargetLink leadsTo={targetOf(named)} className="font-medium hover:underline">
          {named.name}
        </TargetLink>
        {!named.enabled && <Badge icon={PowerOff} text="disabled" />}
      </span>
    ),
  },
  { header: 'About', cell: (named) => aboutText(named) },
  { header: 'Events', className: 'hidden sm:table-cell', cell: ({ triggers }) => triggersText(triggers) },
]

const KINDS = { workspaces: 'workspace', projects: 'project', teams: 'team' } as const

function aboutText({ subscribable: { type, name }, 'organization-name': organization }: Named) {
  return (
    <>
      {name}
      <span className="block text-dim">
        {KINDS[type]} of {organization}
      </span>
    </>
  )
}

function targetOf({ id, subscribable, 'organization-name': organization }: Named): Target {
  const { type, name } = subscribable
  if (type === 'workspaces')
    return {
      to: '/app/$organization/workspaces/$workspace/settings/notifications',
      params: { organization, workspace: name },
      search: { notification: id },
    }
  const search = { tab: 'notifications', notification: id }
  return type === 'projects'
    ? { to: '/app/$organization/projects/$project', params: { organization, project: subscribable.id }, search }
    : { to: '/app/$organization/teams/$team', params: { organization, team: subscribable.id }, search }
}

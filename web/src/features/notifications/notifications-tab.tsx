import { Bell, Pencil, Plus, Power, PowerOff, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, Notice, loaded } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { ConfigurationDialog } from './configuration-dialog.tsx'
import { ConfigurationView } from './configuration-view.tsx'
import { DESTINATIONS } from './destinations.ts'
import { type NotificationsProps, at, useNotificationSearch } from './notification-place.ts'
import { LastNotification, NobodyText } from './notification-status.tsx'
import {
  type Configuration,
  DELETION,
  type Owner,
  useConfigurations,
  useDeleteConfiguration,
  useSwitchConfiguration,
} from './notifications.ts'
import { triggersText } from './triggers.ts'

/** The maximum for one workspace, project or team. */
const MAX_CONFIGURATIONS = 20

const ABOUT = {
  workspaces: 'Notifications tell people and services about the runs of this workspace.',
  projects: 'Notifications tell people and services about the runs of all workspaces of this project.',
  teams: 'Notifications tell this team about change requests for its workspaces.',
} as const

/** The notification configurations of a workspace, project or team; the search parameter `notification` opens one. */
export function NotificationsTab({ owner, mayManage, place }: NotificationsProps) {
  const [{ notification, new: isNew = false }, go] = useNotificationSearch(place)
  if (notification !== undefined)
    return <ConfigurationView key={notification} {...{ owner, place }} id={notification} />
  return (
    <>
      <ConfigurationList {...{ owner, mayManage, place }} onNew={() => go({ new: true }, { replace: true })} />
      {mayManage && isNew && (
        <ConfigurationDialog
          owner={owner}
          onClose={() => go({}, { replace: true })}
          onSaved={({ id }) => go({ notification: id }, { replace: true })}
        />
      )}
    </>
  )
}

type ListProps = NotificationsProps & { onNew: () => void }

function ConfigurationList({ owner, mayManage, place, onNew }: ListProps) {
  const { data, fallback } = loaded(useConfigurations(owner), { rows: 3, label: 'Loading the notifications' })
  if (!data) return fallback
  const create = mayManage && (
    <Button
      label="New notification"
      icon={Plus}
      kind="primary"
      reason={data.length < MAX_CONFIGURATIONS ? undefined : `${MAX_CONFIGURATIONS} is the maximum: delete one first`}
      onClick={onNew}
    />
  )
  if (data.length === 0) return <NoNotifications owner={owner} create={create} />
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-start gap-3">
        <p className="min-w-0 flex-1 basis-64 text-dim">
          {ABOUT[owner.kind]} <DocsLink page="notifications">How it works</DocsLink>
        </p>
        {create}
      </div>
      {owner.kind === 'teams' && <TeamNotice />}
      <ConfigurationTable {...{ owner, place }} rows={data} />
    </div>
  )
}

function NoNotifications({ owner, create }: { owner: Owner; create: ReactNode }) {
  return (
    <EmptyState icon={Bell} title="No notifications yet" actions={create || undefined}>
      {owner.kind === 'teams' ? (
        <TeamNotice />
      ) : (
        <p>
          {ABOUT[owner.kind]} When a run needs approval or has failed, for example, they send a message to Slack or
          Microsoft Teams, a mail, or a signed request to your own service.
        </p>
      )}
      <p>
        <DocsLink page="notifications">Set up notifications</DocsLink>
        {create === false && ' Creating one requires admin access.'}
      </p>
    </EmptyState>
  )
}

/** Why the notifications of a team remain silent. */
function TeamNotice() {
  return (
    <Notice>
      Notifications of a team are about change requests only, which this server does not have yet. Until then, only
      tests are sent. For runs, add a notification to a workspace or project.
    </Notice>
  )
}

type TableProps = Omit<NotificationsProps, 'mayManage'> & { rows: readonly Configuration[] }

function ConfigurationTable({ owner, place, rows }: TableProps) {
  const columns: readonly Column<Configuration>[] = [
    {
      header: 'Name',
      className: 'min-w-40',
      cell: ({ id, attributes }) => {
        const { text, icon: Icon } = DESTINATIONS[attributes['destination-type']]
        return (
          <>
            <span className="flex flex-wrap items-center gap-2">
              <TargetLink leadsTo={at(place, { notification: id })} className="font-medium hover:underline">
                {attributes.name}
              </TargetLink>
              {!attributes.enabled && <Badge icon={PowerOff} text="disabled" />}
            </span>
            <span className="flex items-center gap-1 text-dim">
              <Icon size={13} />
              {text}
            </span>
            <NobodyText problem={attributes['recipient-problem']} className="block text-warn" />
          </>
        )
      },
    },
    {
      header: 'Events',
      className: 'hidden sm:table-cell',
      cell: ({ attributes }) => triggersText(attributes.triggers) || <span className="text-dim">none</span>,
    },
    {
      header: 'Last notification',
      cell: ({ attributes }) => <LastNotification last={attributes['last-notification']} />,
    },
    {
      header: 'Actions',
      isHeaderHidden: true,
      className: 'w-px text-right',
      cell: (configuration) => <ConfigurationMenu {...{ owner, place, configuration }} />,
    },
  ]
  return <Table label={`Notifications of ${owner.name}`} rows={rows} columns={columns} />
}

type MenuProps = Omit<NotificationsProps, 'mayManage'> & { configuration: Configuration }

function ConfigurationMenu({ owner: { organization }, place, configuration }: MenuProps) {
  const { toggle } = useSwitchConfiguration(organization)
  const remove = useDeleteConfiguration(organization)
  const { id, attributes } = configuration
  const { name, enabled, permissions } = attributes
  return (
    <RowMenu
      label={`Actions for ${name}`}
      actions={[
        permissions['can-update'] && {
          text: 'Edit',
          icon: Pencil,
          link: at(place, { notification: id, edit: true }),
        },
        permissions['can-update'] && {
          text: enabled ? 'Disable' : 'Enable',
          icon: enabled ? PowerOff : Power,
          onSelect: () => void toggle(configuration),
        },
        permissions['can-destroy'] && {
          text: 'Delete',
          icon: Trash2,
          confirm: {
            title: `Delete ${name}?`,
            consequence: DELETION,
            action: `Delete ${name}`,
            done: `Notification ${name} deleted`,
            onConfirm: async () => remove.mutateAsync(id),
          },
        },
      ]}
    />
  )
}

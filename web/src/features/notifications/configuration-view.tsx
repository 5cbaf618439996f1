import { ArrowLeft, FlaskConical, Pencil, Power, PowerOff, Trash2 } from 'lucide-react'
import { isNotFound } from '../../api/client.ts'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { EmptyState, ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { Badge, OUTCOME_STYLE, StatusText } from '../../components/status.tsx'
import { RelativeTime, exactTime } from '../../components/time.tsx'
import { Exchange } from '../run-tasks/exchange.tsx'
import { ConfigurationDialog } from './configuration-dialog.tsx'
import { DESTINATIONS } from './destinations.ts'
import { NotificationLog } from './notification-log.tsx'
import { type NotificationsProps, at, useNotificationSearch } from './notification-place.ts'
import { NobodyNotice } from './notification-status.tsx'
import {
  type Configuration,
  DELETION,
  NOTIFICATIONS,
  type Owner,
  type Recipient,
  type ShownConfiguration,
  useConfiguration,
  useSendTest,
  useSwitchConfiguration,
} from './notifications.ts'
import { isSilent, triggersText } from './triggers.ts'

type ViewProps = Omit<NotificationsProps, 'mayManage'>

/** A notification configuration: its settings, a test, and the log of its notifications. */
export function ConfigurationView({ owner, place, id }: ViewProps & { id: string }) {
  const query = useConfiguration(owner.organization, id)
  const failure = failureOf(query)
  return (
    <div className="space-y-4">
      <TargetLink leadsTo={at(place, {})} className="inline-flex items-center gap-1 text-accent hover:underline">
        <ArrowLeft size={15} />
        All notifications
      </TargetLink>
      {failure &&
        (isNotFound(failure.error) ? (
          <EmptyState title="Notification not found" text="It may have been deleted." />
        ) : (
          <ErrorNote {...failure} />
        ))}
      {!failure && (query.data ? <OpenConfiguration {...{ owner, place }} shown={query.data} /> : <Skeleton />)}
    </div>
  )
}

type OpenProps = ViewProps & { shown: ShownConfiguration }

function OpenConfiguration({ owner, place, shown }: OpenProps) {
  const { organization } = owner
  const { configuration } = shown
  const { id, attributes } = configuration
  const { name, enabled, permissions } = attributes
  const [{ edit = false }, go] = useNotificationSearch(place)
  const { toggle, isPending } = useSwitchConfiguration(organization)
  const closeDialog = () => go({ notification: id }, { replace: true })
  return (
    <>
      <Card
        title={
          <span className="flex flex-wrap items-center gap-2">
            {name}
            {!enabled && <Badge icon={PowerOff} text="disabled" title="Nothing is sent except tests" />}
          </span>
        }
        actions={
          permissions['can-update'] && (
            <div className="flex flex-wrap gap-2">
              <Button
                label={enabled ? 'Disable' : 'Enable'}
                icon={enabled ? PowerOff : Power}
                isPending={isPending}
                onClick={() => void toggle(configuration)}
              />
              <Button
                label="Edit"
                icon={Pencil}
                onClick={() => go({ notification: id, edit: true }, { replace: true })}
              />
            </div>
          )
        }
      >
        <div className="space-y-4">
          <NobodyNotice configuration={configuration} />
          <Facts shown={shown} owner={owner} />
          <Test {...{ organization, configuration }} />
        </div>
      </Card>
      <NotificationLog {...{ organization, place, configuration }} />
      {permissions['can-destroy'] && <Deletion {...{ owner, place, configuration }} />}
      {permissions['can-update'] && edit && (
        <ConfigurationDialog owner={owner} shown={shown} onClose={closeDialog} onSaved={closeDialog} />
      )}
    </>
  )
}

type FactsProps = { owner: Owner; shown: ShownConfiguration }

function Facts({ owner, shown: { configuration, recipients } }: FactsProps) {
  const { attributes } = configuration
  const type = attributes['destination-type']
  const silent = attributes.triggers.length > 0 && attributes.triggers.every(isSilent)
  return (
    <DescriptionList
      facts={[
        ['Destination', DESTINATIONS[type].text],
        [
          'URL',
          attributes.url === null ? null : (
            <code key="url" className="break-all">
              {attributes.url}
            </code>
          ),
        ],
        ['Signature', type === 'generic' ? (attributes['has-token'] ? 'signed' : 'not signed: no token is set') : null],
        ['Recipients', type === 'email' ? recipientsText(attributes, recipients, owner.kind) : null],
        ['Sent to', addressesText(attributes['recipient-count'])],
        [
          'Events',
          <span key="events">
            {triggersText(attributes.triggers) || 'none'}
            {silent && <span className="text-dim"> (this server does not report them yet)</span>}
          </span>,
        ],
        ['Created', exactTime(attributes['created-at'])],
      ]}
    />
  )
}

/** "2 addresses"; null if unknown. */
function addressesText(count: number | null) {
  return count === null ? null : counted(count, 'address', 'addresses')
}

/** "ada, grace, ops@example.com", or who receives the mails if no one is named. */
function recipientsText(
  attributes: Configuration['attributes'],
  recipients: readonly Recipient[],
  kind: Owner['kind'],
) {
  const names = [...recipients.map(({ name }) => name), ...attributes['email-addresses']]
  if (kind !== 'workspaces' && (attributes['email-all-members'] || names.length === 0))
    return ['all members', ...names].join(', ')
  return names.join(', ') || 'nobody'
}

type TestProps = { organization: string; configuration: Configuration }

/** Sends a test. The response to the latest one is kept with the configuration. */
function Test({ organization, configuration }: TestProps) {
  const test = useSendTest(organization, configuration.id)
  const { permissions, 'destination-type': type, 'delivery-responses': responses } = configuration.attributes
  const refused = configuration.attributes['refused-recipients']
  // It is that of the last accepted test.
  const latest = test.error ? undefined : responses[0]
  return (
    <div className="space-y-3">
      {permissions['can-update'] && (
        <Button label="Send a test" icon={FlaskConical} isPending={test.isPending} onClick={() => test.mutate()} />
      )}
      <div role="status" className="space-y-3">
        {test.error && <ErrorNote error={test.error} />}
        {test.isSuccess && type === 'email' && refused.length === 0 && (
          <StatusText {...OUTCOME_STYLE.done} text="Test mail sent" />
        )}
        {!test.error && refused.length > 0 && (
          <Notice tone="warn">
            The last test mail was sent, but the mail server refused it for {refused.join(', ')}.
          </Notice>
        )}
        {latest && (
          <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <StatusText
              {...(latest.successful === 'true' ? OUTCOME_STYLE.done : OUTCOME_STYLE.failed)}
              text={latest.successful === 'true' ? 'Last test accepted' : 'Last test failed'}
            />
            {latest.code !== '' && <span className="numeric">response {latest.code}</span>}
            <RelativeTime at={latest['sent-at']} className="text-dim" />
          </p>
        )}
        {latest && (latest.body !== '' || Object.keys(latest.headers).length > 0) && (
          <details>
            <summary className="cursor-pointer text-dim">
              {type === 'email' ? 'Reply of the mail server' : 'Response'}
            </summary>
            <div className="mt-2">
              <Exchange
                title="the test"
                request={null}
                response={{
                  status: Number(latest.code),
                  headers: latest.headers,
                  body: latest.body,
                  'is-truncated': false,
                  'is-withheld': false,
                }}
                error={null}
              />
            </div>
          </details>
        )}
      </div>
    </div>
  )
}

function Deletion({ owner: { organization }, place, configuration }: ViewProps & { configuration: Configuration }) {
  const remove = useDeleteAndLeave()
  const { id, attributes } = configuration
  return (
    <Card title="Delete notification" tone="bad" about={DELETION}>
      <Confirm
        label="Delete notification"
        icon={Trash2}
        title={`Delete ${attributes.name}?`}
        consequence={DELETION}
        action={`Delete ${attributes.name}`}
        onConfirm={async () =>
          remove({
            path: `/notification-configurations/${id}`,
            name: `Notification ${attributes.name}`,
            target: at(place, {}),
            own: [NOTIFICATIONS, organization, id],
            affected: [[NOTIFICATIONS, organization]],
          })
        }
      />
    </Card>
  )
}

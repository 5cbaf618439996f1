import { Filter, X } from 'lucide-react'
import { AttributeDiff, type AttributeChange, type Side } from '../../components/attribute-diff.tsx'
import { Button, IconButton } from '../../components/button.tsx'
import { DescriptionList } from '../../components/card.tsx'
import { CodeBlock, CopyButton } from '../../components/copy.tsx'
import { Drawer } from '../../components/dialog.tsx'
import { Skeleton } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { RelativeTime, exactTime } from '../../components/time.tsx'
import type { AuditSearch } from './audit-search.ts'
import { type Scope, resourceLink, resourceName, tokenLink } from './audit-trail.ts'
import { type AuditEvent, actorName, actorText, eventText, typeText } from './event-text.ts'

type EventDrawerProps = {
  scope: Scope
  /** Null for an id without an event, undefined while it loads. */
  event: AuditEvent | null | undefined
  isOpen: boolean
  onClose: () => void
  onFilter: (filter: AuditSearch) => void
}

export function EventDrawer({ isOpen, onClose, event, ...props }: EventDrawerProps) {
  const title = event ? eventText(event.resource) : 'Event'
  return (
    <Drawer label={title} side="right" isOpen={isOpen} onClose={onClose}>
      <header className="sticky top-0 flex items-center gap-3 border-b border-line bg-raised px-4 py-3">
        <h2 className="min-w-0 flex-1 text-base font-semibold">{title}</h2>
        <IconButton label="Close" icon={X} onClick={onClose} />
      </header>
      <div className="space-y-6 px-4 py-4">
        {event === undefined && <Skeleton rows={6} />}
        {event === null && <p>Event not found. It may have been deleted after the retention period.</p>}
        {event && <EventDetails event={event} {...props} />}
      </div>
    </Drawer>
  )
}

function EventDetails({
  scope,
  event,
  onFilter,
}: Pick<EventDrawerProps, 'scope' | 'onFilter'> & { event: AuditEvent }) {
  const { auth, resource } = event
  const { before, after, ...details } = resource.meta ?? {}
  const changes = settingChanges(before, after)
  const name = resourceName(event)
  const link = resourceLink(scope, event)
  const actor = auth.token ? actorName(auth.token.owner) : auth.description
  return (
    <>
      <DescriptionList
        facts={[
          [
            'Time',
            <>
              {exactTime(event.timestamp)} (<RelativeTime at={event.timestamp} />)
            </>,
          ],
          ['User', auth.type === 'System' ? `${auth.description} (the server itself)` : actor],
          ['Token', tokenText(scope, auth)],
          ['Address', auth.address && <Code text={auth.address} />],
          ['Client', auth.user_agent && <span className="wrap-anywhere">{auth.user_agent}</span>],
          ['Request', event.request.id && <Code text={event.request.id} />],
          [
            'Resource',
            link ? (
              <TargetLink leadsTo={link} className="text-accent underline">
                {name ?? typeText(resource.type)}
              </TargetLink>
            ) : (
              name
            ),
          ],
          ['Resource ID', <Code key="id" text={resource.id} />],
          [
            'Organization',
            scope.organization === undefined && auth.organization_id ? <Code text={auth.organization_id} /> : null,
          ],
        ]}
      />
      <div className="flex flex-wrap gap-2">
        <Button
          size="small"
          icon={Filter}
          label="Events of this resource"
          onClick={() => onFilter({ resource: resource.id })}
        />
        {auth.accessor_id !== null && (
          <Button
            size="small"
            icon={Filter}
            label={`Events by ${actor}`}
            onClick={() => onFilter({ actor: auth.accessor_id ?? undefined })}
          />
        )}
      </div>
      {changes.length > 0 && (
        <section aria-label="Changes">
          <h3 className="mb-2 font-semibold">Before and after</h3>
          <div className="overflow-hidden rounded-lg border border-line bg-paper">
            <AttributeDiff label="Settings before and after" changes={changes} />
          </div>
        </section>
      )}
      {Object.keys(details).length > 0 && (
        <section aria-label="Details">
          <h3 className="mb-2 font-semibold">Details</h3>
          <CodeBlock label="the details" code={JSON.stringify(details, null, 2)} />
        </section>
      )}
    </>
  )
}

function tokenText(scope: Scope, auth: AuditEvent['auth']) {
  if (auth.token_id === null) return auth.type === 'Client' ? 'a browser session' : undefined
  if (!auth.token) return <Code text={auth.token_id} />
  const link = tokenLink(scope, auth)
  if (!link) return actorText(auth)
  return (
    <TargetLink leadsTo={link} className="text-accent underline">
      {actorText(auth)}
    </TargetLink>
  )
}

function Code({ text }: { text: string }) {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <code className="min-w-0 wrap-anywhere">{text}</code>
      <CopyButton text={text} label={`Copy ${text}`} />
    </span>
  )
}

/** The server's mark of a value that it does not record. */
const SECRET = '(changed)'

function settingChanges(before: unknown, after: unknown): AttributeChange[] {
  if (!isRecord(before) || !isRecord(after)) return []
  return Object.keys(after).map((path) => ({ path, before: sideOf(before[path]), after: sideOf(after[path]) }))
}

function sideOf(value: unknown): Side {
  if (value === undefined || value === null) return { kind: 'absent' }
  if (value === SECRET) return { kind: 'sensitive' }
  return typeof value === 'string'
    ? { kind: 'value', text: value, isText: true }
    : { kind: 'value', text: JSON.stringify(value, null, 2) }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

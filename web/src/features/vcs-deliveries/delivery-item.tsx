import { CircleCheck, CircleSlash, CircleX, LoaderCircle, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ErrorNote, loaded } from '../../components/feedback.tsx'
import { FoldedItem } from '../../components/folded-item.tsx'
import { ExternalLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { Badge, type StatusStyle } from '../../components/status.tsx'
import { RelativeTime, withLocalTimes } from '../../components/time.tsx'
import { shortSha } from '../runs/run-commit.tsx'
import { DecisionList } from './decision-list.tsx'
import { PublicationList } from './publication-list.tsx'
import { type Delivery, useDecisions, useReplay } from './vcs-deliveries.ts'

type DeliveryStatus = Delivery['attributes']['status']

export const DELIVERY_STYLE: Readonly<Record<DeliveryStatus, StatusStyle & { text: string }>> = {
  pending: { text: 'Pending', tone: 'busy', icon: LoaderCircle },
  decided: { text: 'Decided', tone: 'good', icon: CircleCheck },
  ignored: { text: 'Ignored', tone: 'quiet', icon: CircleSlash },
  failed: { text: 'Failed', tone: 'bad', icon: CircleX },
}

/** Sources other than a webhook, which is the usual one. */
export const SOURCES: Partial<Record<Delivery['attributes']['source'], string>> = {
  polling: 'found by polling',
  replay: 'replay',
}

/** "2 runs, 3 skipped". */
export function outcomeText({ attributes }: Delivery) {
  const { 'run-count': runs, 'skip-count': skips, status } = attributes
  if (status !== 'decided') return undefined
  const published = attributes['publication-count']
  if (runs === 0 && skips === 0 && published === 0) return 'no workspace'
  return [
    runs > 0 && counted(runs, 'run'),
    published > 0 && `${published.toLocaleString('en')} published`,
    skips > 0 && `${skips.toLocaleString('en')} skipped`,
  ]
    .filter(Boolean)
    .join(', ')
}

type DeliveryItemProps = {
  organization: string
  delivery: Delivery
  isOpen: boolean
  mayManage: boolean
  onToggle: () => void
}

/** A delivery in a list, which opens to its decisions. */
export function DeliveryItem({ organization, delivery, isOpen, mayManage, onToggle }: DeliveryItemProps) {
  const { attributes } = delivery
  const source = SOURCES[attributes.source]
  return (
    <FoldedItem
      {...{ isOpen, onToggle }}
      label={<span className="min-w-0 font-medium break-words">{attributes.title}</span>}
      content={() => <OpenDelivery {...{ organization, delivery, mayManage }} />}
    >
      <DeliveryCommit delivery={delivery} />
      <Badge {...DELIVERY_STYLE[attributes.status]} />
      <span className="min-w-0 flex-1 basis-40 text-dim">
        <span className="break-words">{attributes['repository-identifier']}</span>
        {attributes['sender-username'] !== null && ` by ${attributes['sender-username']}`}
        {source !== undefined && ` (${source})`}
      </span>
      <span className="text-dim">{outcomeText(delivery)}</span>
      <RelativeTime at={attributes['received-at']} className="text-dim" />
    </FoldedItem>
  )
}

function OpenDelivery({
  organization,
  delivery,
  mayManage,
}: Pick<DeliveryItemProps, 'organization' | 'delivery' | 'mayManage'>) {
  const { attributes } = delivery
  const [page, setPage] = useState<number>()
  const { data, fallback } = loaded(useDecisions(organization, delivery.id, page), { rows: 2 })
  return (
    <div className="space-y-3">
      {attributes.message !== null && <p className="break-words">{withLocalTimes(attributes.message)}</p>}
      {!data && fallback}
      {data && data.rows.length > 0 && <DecisionList decisions={data.rows} />}
      {data?.rows.length === 0 && attributes.status === 'decided' && (
        <p className="text-dim">No workspace that you can see follows this repository.</p>
      )}
      <Pager pagination={data?.pagination} onPage={setPage} />
      {attributes.status === 'decided' && <PublicationList organization={organization} deliveryId={delivery.id} />}
      <ReplayButton {...{ organization, delivery, mayManage }} />
    </div>
  )
}

/** The commit that was reported, by its first digits, with a link to its page on the host. */
export function DeliveryCommit({ delivery: { attributes } }: { delivery: Delivery }) {
  const { 'commit-sha': sha, 'commit-url': url } = attributes
  if (sha === null) return null
  const code = <code title={sha}>{shortSha(sha)}</code>
  return url === null ? code : <ExternalLink href={url}>{code}</ExternalLink>
}

type ReplayProps = { organization: string; delivery: Delivery; mayManage: boolean }

/** Decides a delivery again, with the settings of now. */
export function ReplayButton({ organization, delivery, mayManage }: ReplayProps) {
  const replay = useReplay(organization)
  const { kind, status } = delivery.attributes
  const reason = mayManage
    ? kind === null
      ? 'nothing happened that could be decided'
      : status === 'pending'
        ? 'it has not been decided yet'
        : undefined
    : 'requires the permission to manage connections'
  return (
    <>
      <Button
        size="small"
        icon={RotateCw}
        label="Replay"
        reason={reason}
        isPending={replay.isPending}
        onClick={() =>
          replay.mutate(delivery.id, { onSuccess: () => toast({ text: 'Replayed: it is decided again' }) })
        }
      />
      {replay.error && <ErrorNote error={replay.error} />}
    </>
  )
}

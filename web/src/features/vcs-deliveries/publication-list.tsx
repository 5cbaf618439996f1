import { CircleCheck, CircleDashed, CircleX, LoaderCircle, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ErrorNote, loaded } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { Badge, type StatusStyle } from '../../components/status.tsx'
import { RelativeTime, withLocalTimes } from '../../components/time.tsx'
import { type Publication, type Published, usePublications, usePublicationsOf } from './vcs-deliveries.ts'

const STATUSES: Readonly<Record<Publication['attributes']['status'], StatusStyle & { text: string }>> = {
  pending: { text: 'Publishing', tone: 'busy', icon: LoaderCircle },
  published: { text: 'Published', tone: 'good', icon: CircleCheck },
  skipped: { text: 'skipped', tone: 'quiet', icon: CircleDashed },
  failed: { text: 'Failed', tone: 'bad', icon: CircleX },
}

/** The modules and policy sets of a delivery's repository, each with the version that it published or the reason why not. */
export function PublicationList({ organization, deliveryId }: { organization: string; deliveryId: string }) {
  const [page, setPage] = useState<number>()
  const { data, fallback } = loaded(usePublications(organization, deliveryId, page), { rows: 1 })
  if (!data) return fallback
  if (data.data.length === 0) return null
  return (
    <section aria-label="Publications">
      <ul className="divide-y divide-line">
        {data.data.map((publication) => (
          <PublicationLine key={publication.id} publication={publication} />
        ))}
      </ul>
      <Pager pagination={data.meta.pagination} onPage={setPage} />
    </section>
  )
}

type PublicationsCardProps = {
  of: Published
  /** Undefined without the permission to publish. */
  resync: string | undefined
}

/** The versions that a module or a policy set got from its repository, and why not others. */
export function PublicationsCard({ of, resync }: PublicationsCardProps) {
  const [page, setPage] = useState<number>()
  const { data, fallback } = loaded(usePublicationsOf(of, page), { rows: 2 })
  const publish = useChange(async () => request('POST', `${of.path}/actions/resync`), [of.type])
  return (
    <Card
      title="Publications"
      about={resync ?? 'Versions from the repository.'}
      actions={
        resync !== undefined && (
          <Button
            label="Resync"
            icon={RotateCw}
            size="small"
            isPending={publish.isPending}
            onClick={() =>
              publish.mutate(undefined, { onSuccess: () => toast({ text: 'The repository is being read' }) })
            }
          />
        )
      }
    >
      {publish.error && <ErrorNote error={publish.error} />}
      {!data && fallback}
      {data?.data.length === 0 && <p className="text-dim">Nothing published yet.</p>}
      <ul aria-label="Publications" className="divide-y divide-line">
        {data?.data.map(({ id, attributes }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5">
            <Badge {...STATUSES[attributes.status]} />
            <span className="min-w-0 flex-1 basis-48 break-words">
              {attributes.version !== null && `${attributes.version}, `}
              {withLocalTimes(attributes.message ?? attributes.description)}
            </span>
            {attributes['commit-sha'] !== null && (
              <code className="text-dim">{attributes['commit-sha'].slice(0, 8)}</code>
            )}
            <span className="text-dim">
              <RelativeTime at={attributes['created-at']} />
            </span>
          </li>
        ))}
      </ul>
      <Pager pagination={data?.meta.pagination} onPage={setPage} />
    </Card>
  )
}

function PublicationLine({ publication: { attributes, relationships } }: { publication: Publication }) {
  const { name, status, description, message, version } = attributes
  const kind = relationships['registry-module'].data === null ? 'policy set' : 'module'
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5">
      <span className="min-w-0 basis-40 break-words">
        <span className="text-dim">{kind}</span> <span className="font-medium">{name}</span>
      </span>
      <Badge {...STATUSES[status]} />
      <span className="min-w-0 flex-1 basis-48 break-words">
        {status === 'published' && version !== null && `${version}, `}
        {withLocalTimes(message ?? description)}
      </span>
    </li>
  )
}

import { CircleCheck, CircleDashed, CircleX, LoaderCircle } from 'lucide-react'
import { useState } from 'react'
import { loaded } from '../../components/feedback.tsx'
import { Pager } from '../../components/pager.tsx'
import { Badge, type StatusStyle } from '../../components/status.tsx'
import { withLocalTimes } from '../../components/time.tsx'
import { type Publication, usePublications } from './vcs-deliveries.ts'

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

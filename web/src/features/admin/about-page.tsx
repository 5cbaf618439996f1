import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Card, DescriptionList } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { loaded } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { capitalized, counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { exactTime } from '../../components/time.tsx'
import { type Health, useHealth } from './health.ts'

export function AboutPage() {
  const { data: health, fallback } = loaded(useHealth(), { rows: 4 })
  const engines = health?.agents.engines.map(({ product, version }) => `${capitalized(product)} ${version}`)
  return (
    <Page title="About" actions={<CopyCurl path="/admin/health" />}>
      <div className="grid gap-4">
        <Card title="Versions">
          {!health && fallback}
          {health && (
            <DescriptionList
              facts={[
                ['Groundstate', health.version],
                ['Build', buildOf(health)],
                ['Node.js', health['node-version']],
                ['PostgreSQL', health.database.version],
                ['Engines', engines?.join(', ') || 'no agent is online'],
              ]}
            />
          )}
        </Card>
        <Licences />
      </div>
    </Page>
  )
}

function buildOf({ commit, 'built-at': builtAt }: Health) {
  return commit === null || builtAt === null ? 'from source' : `commit ${commit}, ${exactTime(builtAt)}`
}

/** The licences of all packages, which this page loads. */
function Licences() {
  const [q, setQ] = useState('')
  const query = useQuery({
    queryKey: ['licences'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await import('virtual:licences')).default,
  })
  const { data, fallback } = loaded(query)
  const shown = data?.packages.filter(({ id, licence }) => `${id} ${licence}`.toLowerCase().includes(q.toLowerCase()))
  return (
    <Card
      title="Third-party licences"
      about={data && `${counted(data.packages.length, 'package')} of the server and the web UI.`}
      isFlush={shown !== undefined}
    >
      {!data && fallback}
      {data && shown && (
        <>
          <div className="px-4 pb-3">
            <SearchField label="Search packages" placeholder="Name or licence" value={q} onChange={setQ} />
          </div>
          {shown.length === 0 && <p className="px-4 pb-4 text-dim">No package matches.</p>}
          <ul className="divide-y divide-line border-t border-line empty:hidden">
            {shown.map(({ id, name, version, licence, text }) => (
              <li key={id} className="px-4 py-1.5">
                <Package
                  name={name}
                  version={version}
                  licence={licence}
                  text={text === null ? undefined : data.texts[text]}
                />
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  )
}

type PackageProps = { name: string; version: string; licence: string; text: string | undefined }

function Package({ name, version, licence, text }: PackageProps) {
  const [isOpen, setIsOpen] = useState(false)
  const title = (
    <>
      <span className="font-medium">{name}</span> <span className="numeric text-dim">{version}</span> · {licence}
    </>
  )
  if (text === undefined) return <p>{title}</p>
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary className="cursor-pointer">{title}</summary>
      {isOpen && (
        <pre
          tabIndex={0}
          className="mt-2 mb-2 max-h-80 overflow-auto rounded-md bg-ground p-3 text-xs whitespace-pre-wrap"
        >
          {text}
        </pre>
      )}
    </details>
  )
}

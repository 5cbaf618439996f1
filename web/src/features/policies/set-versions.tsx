import type { policySetVersionSchema } from '@groundstate/contract/policy-sets'
import type { DocumentOnWire } from '@groundstate/contract/responses'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { errorOf, ownPath, putFile, request } from '../../api/client.ts'
import { invalidate } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { ErrorNote, Notice, loaded } from '../../components/feedback.tsx'
import { byteSize } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { Progress } from '../../components/progress.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Count, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { SourceField } from '../configurations/source-field.tsx'
import { type Source as Upload, SourceError } from '../configurations/source.ts'
import { type UploadStep, archiveOf } from '../configurations/upload.ts'
import { PublicationsCard } from '../vcs-deliveries/publication-list.tsx'
import { connectionIdOf } from '../workspace-repository/repository-form.ts'
import { VersionStatus } from './policy-parts.tsx'
import { POLICY_SETS, type PolicySet, type ShownSet, type VersionRow, useVersions } from './policy-sets.ts'
import { Source } from './set-overview.tsx'

type VersionsProps = { organization: string; shown: ShownSet }

/** All versions, and the source of the next one: the repository or an upload. */
export function SetVersions({ shown }: VersionsProps) {
  const { set, current, newest, policies } = shown
  const repository = set.attributes['vcs-repo']
  const mayUpdate = set.attributes.permissions['can-update']
  return (
    <div className="max-w-4xl space-y-4">
      {newest?.attributes.status === 'errored' && current && (
        <Notice tone="warn">The newest version could not be used. Runs are still checked by the one in use.</Notice>
      )}
      <Versions set={set} current={current?.id} />
      {repository && (
        <Card title="Repository">
          <DescriptionList
            facts={[
              ['Repository', repository.identifier],
              ['Branch', repository.branch || 'the default branch'],
              ['Directory', set.attributes['policies-path'] ?? 'the root'],
              ['Connection', <code key="connection">{connectionIdOf(repository)}</code>],
            ]}
          />
        </Card>
      )}
      {repository && (
        <PublicationsCard
          of={{ path: `/policy-sets/${set.id}`, type: POLICY_SETS, scope: set.id }}
          resync={mayUpdate ? 'Pushes make versions. Resync publishes the tip of the branch.' : undefined}
        />
      )}
      {!repository && mayUpdate && <UploadCard set={set.id} isBlocked={policies.length > 0} />}
    </div>
  )
}

function Versions({ set, current }: { set: PolicySet; current: string | undefined }) {
  const [page, setPage] = useState<number>()
  const { data, fallback } = loaded(useVersions(set.id, page), { rows: 2, label: 'Loading the versions' })
  if (!data) return fallback
  if (data.rows.length === 0 && page === undefined) return <p className="text-dim">No version yet.</p>
  return (
    <>
      <Table label={`Versions of ${set.attributes.name}`} rows={data.rows} columns={columns(current)} />
      <Pager pagination={data.pagination} onPage={setPage} />
    </>
  )
}

function columns(current: string | undefined): readonly Column<VersionRow>[] {
  return [
    {
      header: 'Version',
      cell: ({ id, author, attributes }) => (
        <>
          <span className="flex flex-wrap items-center gap-x-2">
            <RelativeTime at={attributes['created-at']} />
            {id === current && <Badge tone="accent" text="in use" />}
          </span>
          <span className="text-dim">
            {author !== undefined && `by ${author} `}
            <Source version={attributes} />
          </span>
        </>
      ),
    },
    {
      header: 'Status',
      cell: (version) => (
        <>
          <VersionStatus version={version} />
          {version.attributes['error-message'] !== null && (
            <span className="block wrap-anywhere text-bad">{version.attributes['error-message']}</span>
          )}
        </>
      ),
    },
    {
      header: 'Policies',
      className: 'hidden w-px text-right sm:table-cell',
      cell: ({ attributes: { status, policies } }) => status === 'ready' && <Count value={policies.length} />,
    },
  ]
}

function UploadCard({ set, isBlocked }: { set: string; isBlocked: boolean }) {
  const [source, setSource] = useState<Upload>()
  const [step, setStep] = useState<UploadStep>()
  const [error, setError] = useState<Error>()
  const controller = useRef<AbortController>(undefined)
  useEffect(() => () => controller.current?.abort(), [])

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (!source || step || isBlocked) return
    setError(undefined)
    controller.current = new AbortController()
    const { signal } = controller.current
    setStep({ label: 'Packing files', done: 0, total: undefined })
    try {
      const archive = await archiveOf(source)
      const { data } = await request<DocumentOnWire<typeof policySetVersionSchema>>(
        'POST',
        `/policy-sets/${set}/versions`,
        undefined,
        signal,
      )
      const onProgress = (done: number) => setStep({ label: 'Uploading', done, total: archive.size })
      onProgress(0)
      await putFile(ownPath(data.links.upload ?? ''), archive, { signal, onProgress })
      toast({ text: 'Version uploaded. The next evaluations use it.' })
      setSource(undefined)
    } catch (cause) {
      if (!signal.aborted) setError(errorOf(cause))
    } finally {
      setStep(undefined)
      await invalidate([POLICY_SETS])
    }
  }
  const reason = isBlocked
    ? 'the set has single policies: remove them first'
    : source
      ? undefined
      : 'select a folder or an archive'
  return (
    <Card
      title="Upload a version"
      about={
        <>
          A folder or an archive with policies.hcl and its Rego files.{' '}
          <DocsLink page="policies">Write policies</DocsLink>
        </>
      }
    >
      {step ? (
        <Progress {...step} format={byteSize} />
      ) : (
        <form onSubmit={(event) => void submit(event)} className="space-y-4">
          <SourceField kind="policies" source={source} onChange={setSource} />
          {error instanceof SourceError ? (
            <Notice tone="bad" role="alert">
              {error.message}
            </Notice>
          ) : (
            error && <ErrorNote error={error} />
          )}
          <Button label="Upload version" type="submit" kind="primary" reason={reason} />
        </form>
      )}
    </Card>
  )
}

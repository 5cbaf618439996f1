import type { policySetVersionSchema } from '@groundstate/contract/policy-sets'
import type { DocumentOnWire } from '@groundstate/contract/responses'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { errorOf, ownPath, putFile, request } from '../../api/client.ts'
import { invalidate } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { byteSize } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { Progress } from '../../components/progress.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { SourceField } from '../configurations/source-field.tsx'
import { type Source as Upload, SourceError } from '../configurations/source.ts'
import { type UploadStep, archiveOf } from '../configurations/upload.ts'
import { connectionIdOf } from '../workspace-repository/repository-form.ts'
import { VersionStatus } from './policy-parts.tsx'
import { POLICY_SETS, type PolicySetVersion, type ShownSet } from './policy-sets.ts'
import { Source } from './set-overview.tsx'

type VersionsProps = { organization: string; shown: ShownSet }

/** The version in use, the newest one if it is another, and the upload of the next one. */
export function SetVersions({ shown }: VersionsProps) {
  const { set, current, newest, policies } = shown
  const repository = set.attributes['vcs-repo']
  const isCurrent = newest?.id === current?.id
  return (
    <div className="max-w-4xl space-y-4">
      {newest && !isCurrent && <Version title="Newest version" version={newest} isUsed={false} />}
      {current && <Version title="Version in use" version={current} isUsed />}
      {!newest && <p className="text-dim">No version yet.</p>}
      {repository ? (
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
      ) : (
        set.attributes.permissions['can-update'] && <UploadCard set={set.id} isBlocked={policies.length > 0} />
      )}
    </div>
  )
}

type VersionProps = { title: string; version: PolicySetVersion; isUsed: boolean }

function Version({ title, version: { attributes }, isUsed }: VersionProps) {
  const { status, 'error-message': error } = attributes
  return (
    <Card title={title} actions={<VersionStatus version={{ attributes } as PolicySetVersion} />}>
      <p className="text-dim">
        Created <RelativeTime at={attributes['created-at']} /> <Source version={attributes} />
        {status === 'ready' && `, ${attributes.policies.length.toLocaleString('en')} policies`}
      </p>
      {error !== null && (
        <div className="mt-3">
          <Notice tone="bad">{error}</Notice>
        </div>
      )}
      {!isUsed && status === 'errored' && (
        <p className="mt-2 text-dim">Runs are still checked by the version in use, if there is one.</p>
      )}
    </Card>
  )
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

import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { ApiError, errorOf } from '../../api/client.ts'
import { invalidate } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { FormErrors, RadioField, SelectField, TextField } from '../../components/form.tsx'
import { useLeaveDialog } from '../../components/links.tsx'
import { byteSize } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { Progress } from '../../components/progress.tsx'
import { type TargetWorkspace, TargetWorkspaceFields, useTargetWorkspace } from '../workspaces/target-workspace.tsx'
import type { WorkspaceResource } from '../workspaces/workspace.ts'
import { SourceField } from './source-field.tsx'
import { type Source, SourceError, configurationDirectories } from './source.ts'
import { type UploadStep, uploadAndRun } from './upload.ts'

type UploadDialogProps = { organization: string; workspace?: WorkspaceResource; onClose: () => void }

/** Uploads a configuration from the browser and creates a run with it, for users without a CLI. */
export default function UploadDialog({ organization, workspace, onClose }: UploadDialogProps) {
  const id = useId()
  const navigate = useNavigate()
  const leave = useLeaveDialog(onClose)
  const [source, setSource] = useState<Source>()
  const target = useTargetWorkspace(organization, workspace, source?.name.replace(/\.(?:tar\.gz|tgz|tf|tofu)$/i, ''))
  const [directory, setDirectory] = useState<string>()
  const [kind, setKind] = useState('apply')
  const [message, setMessage] = useState('')
  const [step, setStep] = useState<UploadStep>()
  const [error, setError] = useState<Error | null>(null)
  const controller = useRef<AbortController>(undefined)
  useEffect(() => () => controller.current?.abort(), [])
  const place = workingDirectory(source, target, directory)
  const reason = source ? (target.problem ?? refusal(target) ?? place.problem) : 'select a folder or an archive'

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (!source || step || reason !== undefined) return
    setError(null)
    controller.current = new AbortController()
    const { signal } = controller.current
    setStep({ label: 'Preparing', done: 0, total: undefined })
    try {
      const { id: workspaceId, attributes } = await target.resolve(
        place.path === '' ? {} : { 'working-directory': place.path },
      )
      const title = message.trim() || `Upload of ${source.name}`
      const options = { workspaceId, source, isPlanOnly: kind === 'plan', message: title, signal, onStep: setStep }
      const run = await uploadAndRun(options)
      toast({ text: 'Run created' })
      const params = { organization, workspace: attributes.name, run: run.id }
      leave()
      await navigate({ to: '/app/$organization/workspaces/$workspace/runs/$run', params })
      await invalidate(
        ...['runs', 'workspaces', 'overview'].flatMap((type) => [
          [type, organization],
          [type, workspaceId],
        ]),
      )
    } catch (cause) {
      setStep(undefined)
      if (!signal.aborted) setError(errorOf(cause))
    }
  }
  function cancel() {
    controller.current?.abort()
    if (!step) onClose()
  }
  return (
    <Dialog
      title="Upload configuration"
      about="Runs a configuration from this computer, without the CLI."
      isOpen
      onClose={cancel}
      width="max-w-2xl"
      footer={
        <>
          <Button label="Cancel" onClick={cancel} />
          <Button
            label="Upload and create run"
            type="submit"
            form={id}
            kind="primary"
            isPending={step !== undefined}
            reason={reason}
          />
        </>
      }
    >
      {step ? (
        <Progress {...step} format={byteSize} />
      ) : (
        <form id={id} onSubmit={(event) => void submit(event)} className="space-y-4">
          <SourceField source={source} onChange={setSource} />
          {source && (
            <>
              <TargetWorkspaceFields target={target} error={error} />
              <TargetNotice target={target} />
              {place.choices.length > 1 && (
                <SelectField
                  label="Working directory"
                  hint="Where the engine runs; the others are usually modules."
                  options={[
                    ...(place.path === undefined ? [['?', 'Select a directory'] as const] : []),
                    ...place.choices.map((path) => [path, path === '' ? '(root)' : path] as const),
                  ]}
                  value={place.path ?? '?'}
                  onChange={({ target: { value } }) => setDirectory(value)}
                />
              )}
              <RadioField
                label="Run type"
                name="kind"
                value={kind}
                onChange={setKind}
                options={[
                  {
                    value: 'apply',
                    text: 'Plan and apply',
                    about: target.existing?.attributes['auto-apply']
                      ? 'Applied automatically (auto-apply).'
                      : 'Applied once the plan is approved.',
                  },
                  {
                    value: 'plan',
                    text: 'Plan only',
                    about: 'Previews the changes. The configuration of the workspace stays as it is.',
                  },
                ]}
              />
              <TextField
                label="Message (optional)"
                hint="The title of the run"
                value={message}
                onChange={({ target: { value } }) => setMessage(value)}
                maxLength={1000}
                autoComplete="off"
              />
            </>
          )}
          <UploadError error={error} />
        </form>
      )}
    </Dialog>
  )
}

function UploadError({ error }: { error: Error | null }) {
  if (!error) return null
  if (error instanceof SourceError)
    return (
      <Notice tone="bad" role="alert">
        {error.message}
      </Notice>
    )
  return error instanceof ApiError ? <FormErrors error={error} names={['name']} /> : <ErrorNote error={error} />
}

/** Why the workspace cannot have the run. */
function refusal({ existing, draft, project }: TargetWorkspace) {
  const mode = existing ? existing.attributes['execution-mode'] : draft.kind === 'new' ? project?.mode : undefined
  if (mode === 'local')
    return existing
      ? 'the execution mode of this workspace is local: its runs execute in the CLI'
      : `the execution mode of ${project?.name} is local: runs execute in the CLI`
  if (existing && !existing.attributes.permissions['can-queue-run'])
    return 'you don’t have permission to create runs in this workspace'
  return undefined
}

function TargetNotice({ target }: { target: TargetWorkspace }) {
  const { existing } = target
  const reason = refusal(target)
  if (reason !== undefined) return <Notice tone="warn">This is not possible: {reason}.</Notice>
  if (!existing) return null
  const holder = existing.relationships['locked-by'].data
  return (
    <>
      {existing.attributes.locked && (
        <Notice tone="warn">
          {holder?.type === 'runs'
            ? 'The run waits for the active run of the workspace, unless it is plan-only.'
            : 'The workspace is locked: the run waits until it is unlocked, unless it is plan-only.'}
        </Notice>
      )}
      {existing.attributes['has-configuration'] && (
        <Notice>
          The upload replaces the current configuration of {existing.attributes.name}, unless it is plan-only.
        </Notice>
      )}
    </>
  )
}

/** The directory in which the engine runs: that of an existing workspace, otherwise the user's choice. */
function workingDirectory(
  source: Source | undefined,
  { existing, draft }: TargetWorkspace,
  chosen: string | undefined,
) {
  const directories = source?.files && configurationDirectories(source.files)
  const nothing = { choices: [] as string[], problem: undefined }
  if (!directories || (!existing && draft.kind === 'existing')) return { ...nothing, path: '' }
  if (existing) {
    const own = existing.attributes['working-directory'].replaceAll(/^\/|\/$/g, '')
    const problem = `there are no .tf files in ${own === '' ? 'the root of the upload' : `the working directory ${own}`}`
    return {
      ...nothing,
      path: own,
      problem: directories.includes(own) ? undefined : `${problem}, but in ${directories.slice(0, 3).join(', ')}`,
    }
  }
  const only = directories.includes('') ? '' : directories.length === 1 ? directories[0] : undefined
  const path = chosen !== undefined && directories.includes(chosen) ? chosen : only
  return {
    choices: directories.slice(0, 200),
    path,
    problem: path === undefined ? 'select the working directory' : undefined,
  }
}

import { useNavigate } from '@tanstack/react-router'
import { FileJson } from 'lucide-react'
import { type ChangeEvent, type FormEvent, useEffect, useRef, useState } from 'react'
import { errorOf } from '../../api/client.ts'
import { invalidate } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { DescriptionList } from '../../components/card.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { useFileDrop } from '../../components/file-drop.ts'
import { useLeaveDialog } from '../../components/links.tsx'
import { byteSize, counted } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { Progress } from '../../components/progress.tsx'
import { useSession } from '../session/session.ts'
import { TargetWorkspaceFields, useTargetWorkspace } from '../workspaces/target-workspace.tsx'
import type { WorkspaceResource } from '../workspaces/workspace.ts'
import { type ImportProps, importState } from './import-state.ts'
import { type StateFile, readStateFile } from './state-file.ts'

/** Imports one state file into a new workspace, or one without a state. */
export function FileImport({ organization, workspace, onClose }: ImportProps) {
  const navigate = useNavigate()
  const leave = useLeaveDialog(onClose)
  const accountId = useSession().data?.id
  const target = useTargetWorkspace(organization, workspace)
  const [state, setState] = useState<StateFile>()
  const [uploaded, setUploaded] = useState<number>()
  const [error, setError] = useState<Error | null>(null)
  const controller = useRef<AbortController>(undefined)
  useEffect(() => () => controller.current?.abort(), [])
  const refused = target.existing && refusal(target.existing, accountId)
  const reason = state ? (target.problem ?? refused) : 'select a state file'

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (!state || reason !== undefined || uploaded !== undefined) return
    setError(null)
    setUploaded(0)
    controller.current = new AbortController()
    const { signal } = controller.current
    try {
      const { id, attributes, relationships } = await target.resolve()
      const holdsLock = attributes.locked && relationships['locked-by'].data?.id === accountId
      const version = await importState({ workspaceId: id, state, holdsLock, signal, onProgress: setUploaded })
      toast({ text: `State imported into ${attributes.name}` })
      leave()
      await navigate({
        to: '/app/$organization/workspaces/$workspace/states',
        params: { organization, workspace: attributes.name },
        search: { version: version.id },
      })
      await invalidate(
        ...['workspaces', 'overview'].map((type) => [type, organization]),
        ...['workspaces', 'state-versions', 'outputs', 'resources'].map((type) => [type, id]),
      )
    } catch (cause) {
      if (!signal.aborted) setError(errorOf(cause))
    } finally {
      setUploaded(undefined)
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)} className="space-y-4">
      <StateField state={state} onChange={setState} />
      {state && (
        <>
          <TargetWorkspaceFields target={target} error={error} />
          {refused !== undefined && <Notice tone="warn">This is not possible: {refused}.</Notice>}
          {uploaded !== undefined && (
            <Progress label="Importing" done={uploaded} total={state.file.size} format={byteSize} />
          )}
        </>
      )}
      {error && <ErrorNote error={error} />}
      <div className="flex flex-wrap justify-end gap-2">
        <Button label="Cancel" onClick={onClose} />
        <Button label="Import state" type="submit" kind="primary" isPending={uploaded !== undefined} reason={reason} />
      </div>
    </form>
  )
}

/** Why a workspace cannot take the state. */
function refusal({ attributes, relationships }: WorkspaceResource, accountId: string | undefined) {
  const { name, permissions, locked } = attributes
  if (relationships['current-state-version'].data)
    return `${name} has a state already; import into a workspace without one`
  if (!permissions['can-create-state-versions']) return `you don’t have permission to write the state of ${name}`
  if (locked && relationships['locked-by'].data?.id !== accountId) return `${name} is locked; unlock it first`
  return permissions['can-lock'] || locked ? undefined : `you don’t have permission to lock ${name}`
}

type StateFieldProps = { state: StateFile | undefined; onChange: (state: StateFile | undefined) => void }

function StateField({ state, onChange }: StateFieldProps) {
  const input = useRef<HTMLInputElement>(null)
  const [problem, setProblem] = useState<Error>()

  async function select(file: File | undefined) {
    if (!file) return
    setProblem(undefined)
    try {
      onChange(await readStateFile(file))
    } catch (cause) {
      setProblem(errorOf(cause))
    }
  }
  function onInput({ currentTarget }: ChangeEvent<HTMLInputElement>) {
    void select(currentTarget.files?.[0])
    currentTarget.value = ''
  }
  const isOver = useFileDrop(({ files }) => void select(files[0]))
  return (
    <div className="space-y-3">
      <div
        role="group"
        aria-label="State file"
        className={`rounded-lg border border-dashed px-4 text-center ${state ? 'py-3' : 'py-8'} ${isOver ? 'border-accent bg-accent-soft' : 'border-line-strong'}`}
      >
        {!state && (
          <p className="mb-3 text-dim">
            Drop a state file, such as terraform.tfstate, here. <code>terraform state pull</code> writes the current
            one.
          </p>
        )}
        <Button
          label={state ? 'Select another file' : 'Select state file'}
          icon={FileJson}
          onClick={() => input.current?.click()}
        />
        <input ref={input} type="file" hidden aria-label="File" onChange={onInput} />
      </div>
      {problem && (
        <Notice tone="bad" role="alert">
          {problem.message}
        </Notice>
      )}
      {state && (
        <DescriptionList
          facts={[
            ['File', `${state.file.name}, ${byteSize(state.file.size)}`],
            ['Resources', state.resources === undefined ? 'encrypted' : counted(state.resources, 'resource')],
            [
              'Serial',
              <span key="serial" className="numeric">
                {state.serial}
              </span>,
            ],
            [
              'Lineage',
              state.lineage && (
                <code key="lineage" className="text-xs">
                  {state.lineage}
                </code>
              ),
            ],
            ['Written by', state.writtenBy && `version ${state.writtenBy}`],
          ]}
        />
      )}
    </div>
  )
}

import { Link } from '@tanstack/react-router'
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { Button, buttonClass } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Skeleton } from '../../components/feedback.tsx'
import {
  CheckField,
  FormErrors,
  RadioField,
  SelectField,
  TextArea,
  TextField,
  fieldError,
} from '../../components/form.tsx'
import { ConnectCli } from './connect-cli.tsx'
import { MODES } from './execution-settings.tsx'
import {
  type NewWorkspace,
  nameProblem,
  useAgentPools,
  useCreatableProjects,
  useCreateWorkspace,
} from './new-workspace.ts'

type NewWorkspaceDialogProps = {
  organization: string
  /** The project that it is in unless another one is chosen. */
  projectId: string | undefined
  onClose: () => void
}

/** Creates a workspace, and then shows how to use it from the CLI. */
export default function NewWorkspaceDialog({ organization, projectId, onClose }: NewWorkspaceDialogProps) {
  const [created, setCreated] = useState<{ name: string; isLocal: boolean }>()
  const form = useId()
  const create = useCreateWorkspace(organization)
  const projects = useCreatableProjects(organization)

  return created ? (
    <CreatedDialog organization={organization} {...created} onClose={onClose} />
  ) : (
    <Dialog
      title="New workspace"
      about="The place of one configuration, with its variables, its state and its runs."
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} kind="primary" isPending={create.isPending}>
            Create the workspace
          </Button>
        </>
      }
    >
      {projects.data ? (
        <NewWorkspaceForm
          id={form}
          organization={organization}
          projects={projects.data}
          preset={projects.data.find(({ id }) => id === projectId)?.id}
          error={create.error}
          onSubmit={(values) =>
            create.mutate(values, {
              onSuccess: ({ data: { attributes } }) =>
                setCreated({ name: attributes.name, isLocal: attributes['execution-mode'] === 'local' }),
            })
          }
        />
      ) : (
        <Skeleton rows={5} />
      )}
    </Dialog>
  )
}

const NAMES = ['name', 'description', 'engine-version', 'execution-mode', 'agent-pool-id']

function NewWorkspaceForm({ id, organization, projects, preset, error, onSubmit }: NewWorkspaceFormProps) {
  const usual = projects.find(({ name }) => name === 'Default Project') ?? projects[0]
  const [values, setValues] = useState<NewWorkspace>({
    name: '',
    description: '',
    projectId: preset ?? usual?.id,
    mode: '',
    poolId: '',
    engineVersion: '',
    isAutoApply: false,
  })
  const set = (change: Partial<NewWorkspace>) => setValues({ ...values, ...change })
  const inherited = projects.find((project) => project.id === values.projectId)?.mode
  const problem = nameProblem(values.name)
  const name = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // An error that has come is read first.
    if (error) name.current?.closest('form')?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])

  function submit(event: FormEvent) {
    event.preventDefault()
    if (problem === undefined) onSubmit(values)
  }

  return (
    <form id={id} onSubmit={submit} className="space-y-4">
      <div ref={name}>
        <TextField
          label="Name"
          hint="Letters, numbers, underscores and hyphens. It is used in URLs and configurations."
          error={problem ?? fieldError(error, 'name')}
          value={values.name}
          onChange={({ target }) => set({ name: target.value })}
          autoFocus
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
      </div>
      <TextArea
        label="Description (optional)"
        rows={2}
        error={fieldError(error, 'description')}
        value={values.description}
        onChange={({ target }) => set({ description: target.value })}
      />
      {projects.length > 1 && (
        <SelectField
          label="Project"
          options={projects.map((project) => [project.id, project.name])}
          value={values.projectId}
          onChange={({ target }) => set({ projectId: target.value })}
        />
      )}
      <ExecutionFields organization={organization} values={values} inherited={inherited} error={error} onChange={set} />
      <TextField
        label="Engine version (optional)"
        hint={
          <>
            <code>latest</code>, a version such as <code>1.11.4</code>, or a constraint such as <code>~&gt; 1.11</code>.
            Without one the agent's own is used.
          </>
        }
        error={fieldError(error, 'engine-version') ?? fieldError(error, 'terraform-version')}
        value={values.engineVersion}
        onChange={({ target }) => set({ engineVersion: target.value })}
        autoComplete="off"
      />
      <CheckField
        label="Auto-apply"
        hint="Successful plans are applied without approval."
        checked={values.isAutoApply}
        onChange={({ target }) => set({ isAutoApply: target.checked })}
      />
      <FormErrors error={error} names={NAMES} />
    </form>
  )
}

type NewWorkspaceFormProps = {
  id: string
  organization: string
  projects: readonly { id: string; name: string; mode: NewWorkspace['mode'] }[]
  preset: string | undefined
  error: Error | null
  onSubmit: (values: NewWorkspace) => void
}

function ExecutionFields({
  organization,
  values,
  inherited,
  error,
  onChange,
}: {
  organization: string
  values: NewWorkspace
  inherited: NewWorkspace['mode'] | undefined
  error: Error | null
  onChange: (change: Partial<NewWorkspace>) => void
}) {
  const pools = useAgentPools(organization)
  const noPools = pools.data?.length === 0 || pools.error ? 'There is no agent pool that you may use.' : undefined
  const usual = inherited && MODES[inherited].text.toLowerCase()
  return (
    <>
      <RadioField
        label="Where runs are made"
        name="execution-mode"
        value={values.mode}
        onChange={(mode) => onChange({ mode: mode as NewWorkspace['mode'] })}
        options={[
          {
            value: '',
            text: 'As in its project',
            about:
              usual === undefined ? 'What the project says now and later.' : `Now ${usual}; it follows the project.`,
          },
          ...(Object.keys(MODES) as (keyof typeof MODES)[]).map((value) => ({
            value,
            ...MODES[value],
            ...(value === 'agent' && { reason: noPools }),
          })),
        ]}
      />
      {fieldError(error, 'execution-mode') !== undefined && (
        <p role="alert" className="text-bad">
          {fieldError(error, 'execution-mode')}
        </p>
      )}
      {values.mode === 'agent' && (
        <SelectField
          label="Agent pool"
          error={fieldError(error, 'agent-pool-id')}
          options={[
            ['', 'Choose a pool'],
            ...(pools.data ?? []).map(({ id, name, online }) => [id, `${name} (${online} online)`] as const),
          ]}
          value={values.poolId}
          onChange={({ target }) => onChange({ poolId: target.value })}
        />
      )}
    </>
  )
}

function CreatedDialog({
  organization,
  name,
  isLocal,
  onClose,
}: {
  organization: string
  name: string
  isLocal: boolean
  onClose: () => void
}) {
  const params = { organization, workspace: name }
  return (
    <Dialog
      title={`${name} is ready`}
      about="Its first run comes with the first plan of the CLI."
      isOpen
      onClose={onClose}
      width="max-w-2xl"
      footer={
        <>
          <Link to="/app/$organization/workspaces/$workspace/variables" params={params} className={buttonClass()}>
            Set its variables
          </Link>
          <Link
            to="/app/$organization/workspaces/$workspace"
            params={params}
            className={buttonClass({ kind: 'primary' })}
          >
            Open {name}
          </Link>
        </>
      }
    >
      <ConnectCli organization={organization} workspace={name} isLocal={isLocal} />
    </Dialog>
  )
}

import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { Button, buttonClass } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Skeleton } from '../../components/feedback.tsx'
import {
  CheckField,
  CODE_INPUT,
  FormErrors,
  SelectField,
  TextArea,
  TextField,
  fieldError,
} from '../../components/form.tsx'
import { useLeaveDialog, WorkspaceLink } from '../../components/links.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { ConnectCli } from './connect-cli.tsx'
import { ExecutionFields, MODES } from './execution-fields.tsx'
import { type NewWorkspace, nameProblem, useCreatableProjects, useCreateWorkspace } from './new-workspace.ts'

type NewWorkspaceDialogProps = { organization: string; projectId: string | undefined; onClose: () => void }

export default function NewWorkspaceDialog({ organization, projectId, onClose }: NewWorkspaceDialogProps) {
  const [created, setCreated] = useState<{ name: string; isLocal: boolean }>()
  const form = useId()
  const create = useCreateWorkspace(organization)
  const projects = useCreatableProjects(organization)

  if (created) return <CreatedDialog organization={organization} {...created} onClose={onClose} />
  return (
    <Dialog
      title="New workspace"
      about="A workspace holds one configuration with its variables, state and runs."
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button label="Create workspace" type="submit" form={form} kind="primary" isPending={create.isPending} />
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

type NewWorkspaceFormProps = {
  id: string
  organization: string
  projects: NonNullable<ReturnType<typeof useCreatableProjects>['data']>
  preset: string | undefined
  error: Error | null
  onSubmit: (values: NewWorkspace) => void
}

function NewWorkspaceForm({ id, organization, projects, preset, error, onSubmit }: NewWorkspaceFormProps) {
  const defaultProject = projects.find(({ name }) => name === 'Default Project') ?? projects[0]
  const { values, set, text, check } = useDraft<NewWorkspace>({
    name: '',
    description: '',
    projectId: preset ?? defaultProject?.id,
    mode: '',
    poolId: '',
    engineVersion: '',
    isAutoApply: false,
  })
  const inherited = projects.find((project) => project.id === values.projectId)?.mode
  const problem = nameProblem(values.name)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])

  function submit(event: FormEvent) {
    event.preventDefault()
    if (problem === undefined) onSubmit(values)
  }

  return (
    <form ref={form} id={id} onSubmit={submit} className="space-y-4">
      <TextField
        label="Name"
        hint="Letters, numbers, underscores and hyphens. Appears in URLs and configurations."
        {...text('name')}
        error={problem ?? fieldError(error, 'name')}
        autoFocus
        {...CODE_INPUT}
      />
      <TextArea
        label="Description (optional)"
        rows={2}
        {...text('description')}
        error={fieldError(error, 'description')}
      />
      {projects.length > 1 && (
        <SelectField
          label="Project"
          options={projects.map((project) => [project.id, project.name])}
          value={values.projectId}
          onChange={({ target }) => set({ projectId: target.value })}
        />
      )}
      <ExecutionFields
        organization={organization}
        values={values}
        inherited={{
          text: 'Inherit from project',
          about: inherited ? `Currently ${MODES[inherited].text.toLowerCase()}.` : 'Follows changes there.',
        }}
        isVersionOptional
        error={error}
        onChange={set}
      />
      <CheckField label="Auto-apply" hint="Successful plans are applied without approval." {...check('isAutoApply')} />
      <FormErrors error={error} names={NAMES} />
    </form>
  )
}

type CreatedDialogProps = { organization: string; name: string; isLocal: boolean; onClose: () => void }

function CreatedDialog({ organization, name, isLocal, onClose }: CreatedDialogProps) {
  const leave = useLeaveDialog(onClose)
  return (
    <Dialog
      title={`${name} is ready`}
      about="Create the first run from the CLI, or upload a configuration."
      isOpen
      onClose={onClose}
      width="max-w-2xl"
      footer={
        <>
          <WorkspaceLink workspace={name} tab="variables" onClick={leave} className={buttonClass()}>
            Set variables
          </WorkspaceLink>
          <WorkspaceLink workspace={name} search={{ upload: true }} onClick={leave} className={buttonClass()}>
            Upload configuration
          </WorkspaceLink>
          <WorkspaceLink workspace={name} onClick={leave} className={buttonClass({ kind: 'primary' })}>
            Open {name}
          </WorkspaceLink>
        </>
      }
    >
      <ConnectCli organization={organization} workspace={name} isLocal={isLocal} />
    </Dialog>
  )
}

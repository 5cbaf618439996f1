import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { includedOf } from '../../api/queries.ts'
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
import { RunStatus } from '../runs/run-status.tsx'
import { useNewRepository, NewRepositoryFields } from '../workspace-repository/new-repository.tsx'
import { REPOSITORY_POINTER } from '../workspace-repository/repository-fields.tsx'
import { RepositoryProblem } from '../workspace-repository/repository-problem.tsx'
import { ConnectCli } from './connect-cli.tsx'
import { ExecutionFields, MODES } from './execution-fields.tsx'
import { type NewWorkspace, nameProblem, useCreatableProjects, useCreateWorkspace } from './new-workspace.ts'
import { useWorkspace } from './workspace.ts'

type NewWorkspaceDialogProps = { organization: string; projectId: string | undefined; onClose: () => void }

export default function NewWorkspaceDialog({ organization, projectId, onClose }: NewWorkspaceDialogProps) {
  const [created, setCreated] = useState<{ name: string; isLocal: boolean; repository: string | undefined }>()
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
                setCreated({
                  name: attributes.name,
                  isLocal: attributes['execution-mode'] === 'local',
                  repository: attributes['vcs-repo']?.['display-identifier'],
                }),
            })
          }
        />
      ) : (
        <Skeleton rows={5} />
      )}
    </Dialog>
  )
}

const NAMES = [
  'name',
  'description',
  'engine-version',
  'execution-mode',
  'agent-pool-id',
  'working-directory',
  REPOSITORY_POINTER,
]

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
  const { values, set, text, check } = useDraft<Omit<NewWorkspace, 'repository'>>({
    name: '',
    description: '',
    projectId: preset ?? defaultProject?.id,
    mode: '',
    poolId: '',
    engineVersion: '',
    isAutoApply: false,
  })
  const inherited = projects.find((project) => project.id === values.projectId)?.mode
  const repository = useNewRepository(organization, values.projectId)
  const name = values.name || repository.suggestedName
  const problem = nameProblem(name)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])

  function submit(event: FormEvent) {
    event.preventDefault()
    if (problem === undefined && repository.check()) onSubmit({ ...values, name, repository: repository.attributes })
  }

  return (
    <form ref={form} id={id} onSubmit={submit} className="space-y-4">
      <NewRepositoryFields repository={repository} error={error} />
      <TextField
        label="Name"
        hint="Letters, numbers, underscores and hyphens. Appears in URLs and configurations."
        {...text('name')}
        placeholder={repository.suggestedName}
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

type CreatedDialogProps = {
  organization: string
  name: string
  isLocal: boolean
  /** The repository that it follows, if any. */
  repository: string | undefined
  onClose: () => void
}

function CreatedDialog({ organization, name, isLocal, repository, onClose }: CreatedDialogProps) {
  const leave = useLeaveDialog(onClose)
  const document = useWorkspace(organization, name).data
  const workspace = document?.data
  const run = document && includedOf(document).one('runs', document.data.relationships['latest-run'])
  return (
    <Dialog
      title={repository === undefined ? `${name} is ready` : `${name} was created`}
      about={
        repository === undefined
          ? 'Create the first run from the CLI, or upload a configuration.'
          : isLocal
            ? `It follows ${repository}. Its execution mode is local, so pushes start no runs.`
            : `It follows ${repository}. Its first run was started, and each push starts another.`
      }
      isOpen
      onClose={onClose}
      width="max-w-2xl"
      footer={
        <>
          <WorkspaceLink workspace={name} tab="variables" onClick={leave} className={buttonClass()}>
            Set variables
          </WorkspaceLink>
          {repository === undefined && (
            <WorkspaceLink workspace={name} search={{ upload: true }} onClick={leave} className={buttonClass()}>
              Upload configuration
            </WorkspaceLink>
          )}
          <WorkspaceLink workspace={name} onClick={leave} className={buttonClass({ kind: 'primary' })}>
            Open {name}
          </WorkspaceLink>
        </>
      }
    >
      {repository === undefined ? (
        <ConnectCli organization={organization} workspace={name} isLocal={isLocal} />
      ) : (
        <div className="space-y-3">
          {workspace && <RepositoryProblem workspace={workspace.attributes} onLeave={leave} />}
          {run && (
            <p className="flex gap-2">
              First run: <RunStatus run={run.attributes} />
            </p>
          )}
          <p>
            If the configuration needs variables, set them and start another run. What starts runs, and what happens
            with pull requests, is in its{' '}
            <WorkspaceLink workspace={name} tab="settings/repository" onClick={leave} className="text-accent underline">
              settings
            </WorkspaceLink>
            .
          </p>
        </div>
      )}
    </Dialog>
  )
}

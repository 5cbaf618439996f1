import { useState } from 'react'
import { RadioField } from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { ListLink } from '../../components/links.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { useUsableConnections } from '../connections/connections.ts'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { DirectoryField, RepositoryChoice } from './repository-fields.tsx'
import { NO_REPOSITORY, repositoryProblem, vcsRepo } from './repository-form.ts'

type Source = 'repository' | 'cli'

/** State of the choice between a repository and other sources, for a new workspace of the project. */
export function useNewRepository(organization: string, projectId: string | undefined) {
  const { data: connections } = useUsableConnections(organization, projectId)
  const mayConnect = useOrganizationPermissions(organization)?.['can-update-oauth'] === true
  const [selected, setSource] = useState<Source>()
  const [problem, setProblem] = useState<string>()
  const draft = useDraft(NO_REPOSITORY)
  const { values } = draft
  const source = selected ?? (connections !== undefined && connections.length > 0 ? 'repository' : 'cli')
  const isRepository = source === 'repository'

  /** Whether the choice is complete; otherwise the fields say what is missing. */
  function check() {
    const found = isRepository ? repositoryProblem(values) : undefined
    setProblem(found)
    return found === undefined
  }
  return {
    organization,
    connections: connections ?? [],
    mayConnect,
    source,
    setSource,
    draft,
    problem: isRepository && repositoryProblem(values) === problem ? problem : undefined,
    check,
    /** The last part of the identifier, as far as it can be a name. */
    suggestedName: isRepository ? nameOf(values.identifier) : '',
    attributes: isRepository
      ? {
          'vcs-repo': vcsRepo(values),
          'queue-all-runs': true,
          ...(values.directory.trim() !== '' && { 'working-directory': values.directory.trim() }),
        }
      : {},
  }
}

function nameOf(identifier: string) {
  const last = identifier.split('/').at(-1) ?? ''
  return last
    .replace(/\.git$/, '')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .slice(0, 90)
}

type FieldsProps = { repository: ReturnType<typeof useNewRepository>; error: Error | null }

export function NewRepositoryFields({ repository, error }: FieldsProps) {
  const { connections, mayConnect, source, draft, problem } = repository
  if (connections.length === 0)
    return mayConnect ? (
      <p className="text-dim">
        To start runs by pushes,{' '}
        <ListLink list="connections/new" className="text-accent underline">
          connect a host of repositories
        </ListLink>{' '}
        first.
      </p>
    ) : null
  return (
    <>
      <RadioField
        label="Configuration"
        name="source"
        value={source}
        onChange={(value) => repository.setSource(value === 'repository' ? 'repository' : 'cli')}
        options={[
          { value: 'repository', text: 'From a repository', about: 'Pushes start runs, pull requests get plans.' },
          { value: 'cli', text: 'From the CLI, the API or an upload', about: 'It is uploaded with each run.' },
        ]}
      />
      {source === 'repository' && (
        <>
          <RepositoryChoice draft={{ ...draft, error }} connections={connections} />
          <DirectoryField
            organization={repository.organization}
            draft={{ ...draft, error }}
            label="Working directory (optional)"
            hint="The directory of the configuration in the repository. Then only changes in it start runs."
          />
          <FieldAlert text={problem && `Please ${problem}.`} />
        </>
      )}
    </>
  )
}

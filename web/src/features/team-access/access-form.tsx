import { type FormEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { CheckField, FormErrors, RadioField, SelectField } from '../../components/form.tsx'
import { FLAGS, LEVELS, PARTS, type TeamAccess } from './access-words.ts'
import type { AccessInput } from './team-access.ts'

const PART_NAMES = Object.keys(PARTS) as (keyof typeof PARTS)[]
const FLAG_NAMES = Object.keys(FLAGS) as (keyof typeof FLAGS)[]
const LEAST: Omit<TeamAccess, 'sentinel-mocks'> = {
  access: 'read',
  runs: 'read',
  variables: 'none',
  'state-versions': 'none',
  'run-tasks': false,
  'policy-overrides': false,
  'workspace-locking': false,
}

/** Form of a team's access to the workspace. */
export function AccessForm({ saved = LEAST, action, error, isPending, onSubmit, onCancel }: AccessFormProps) {
  const [access, setAccess] = useState(saved)
  function submit(event: FormEvent) {
    event.preventDefault()
    const { access: level } = access
    onSubmit(level === 'custom' ? custom(access) : { access: level })
  }
  return (
    <form
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onCancel()
      }}
      className="max-w-xl space-y-4"
    >
      <RadioField
        label="The team may"
        name="access"
        value={access.access}
        onChange={(level) => setAccess({ ...access, access: level as TeamAccess['access'] })}
        options={(Object.keys(LEVELS) as TeamAccess['access'][]).map((value) => ({ value, ...LEVELS[value] }))}
      />
      {access.access === 'custom' && (
        <div className="space-y-3 border-l-2 border-line pl-4">
          {PART_NAMES.map((part) => (
            <SelectField
              key={part}
              label={PARTS[part].text}
              value={access[part]}
              onChange={({ target }) => setAccess({ ...access, [part]: target.value })}
              options={Object.entries(PARTS[part].choices)}
            />
          ))}
          {FLAG_NAMES.map((flag) => (
            <CheckField
              key={flag}
              label={FLAGS[flag]}
              checked={access[flag]}
              onChange={({ target }) => setAccess({ ...access, [flag]: target.checked })}
            />
          ))}
        </div>
      )}
      <FormErrors error={error} names={[]} />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" kind="primary" isPending={isPending}>
          {action}
        </Button>
        <Button kind="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  )
}

/** The parts go with the level that takes them; with any other the server refuses them. */
function custom(access: Omit<TeamAccess, 'sentinel-mocks'>): AccessInput {
  return {
    access: 'custom',
    runs: access.runs,
    variables: access.variables,
    'state-versions': access['state-versions'],
    'run-tasks': access['run-tasks'],
    'policy-overrides': access['policy-overrides'],
    'workspace-locking': access['workspace-locking'],
  }
}

type AccessFormProps = {
  saved?: Omit<TeamAccess, 'sentinel-mocks'>
  action: string
  error: Error | null
  isPending: boolean
  onSubmit: (attributes: AccessInput) => void
  onCancel: () => void
}

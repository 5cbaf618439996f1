import { X } from 'lucide-react'
import { type FormEvent, useId, useState } from 'react'
import { Button, IconButton } from '../../components/button.tsx'
import { CodeBlock, CopyButton } from '../../components/copy.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { TextArea } from '../../components/form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { type Choice, Picker } from '../../components/picker.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { findManagedTeams } from '../teams/teams.ts'
import { addressesIn } from './addresses.ts'
import { type Invitation, type Invited, type Member, inviteAll } from './members.ts'

const MAX_ADDRESSES = 100

type InviteDialogProps = { organization: string; onClose: () => void }

export default function InviteDialog({ organization, onClose }: InviteDialogProps) {
  const form = useId()
  const [text, setText] = useState('')
  const [teams, setTeams] = useState<readonly Choice[]>([])
  const [results, setResults] = useState<readonly Invited[]>()
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<string>()
  const { emails, invalid } = addressesIn(text)

  async function submit(event: FormEvent) {
    event.preventDefault()
    const problem =
      invalid.length > 0
        ? `Not an email address: ${invalid.map((part) => `“${part}”`).join(', ')}`
        : emails.length === 0
          ? 'Enter at least one address'
          : emails.length > MAX_ADDRESSES
            ? `Invite up to ${MAX_ADDRESSES} people at a time`
            : undefined
    setError(problem)
    if (problem !== undefined || isPending) return
    setIsPending(true)
    try {
      const teamIds = teams.map(({ value }) => value)
      setResults(await inviteAll(organization, emails, teamIds))
    } finally {
      setIsPending(false)
    }
  }
  function again() {
    setText((results ?? []).flatMap(({ email, error }) => (error ? email : [])).join('\n'))
    setResults(undefined)
  }

  if (results) {
    return (
      <Dialog
        title="Invitations"
        isOpen
        onClose={onClose}
        hasSecret={results.some(({ link }) => link !== undefined)}
        width="max-w-2xl"
        footer={
          <>
            <Button label="Invite more" onClick={again} />
            <Button label="Done" kind="primary" onClick={onClose} />
          </>
        }
      >
        <Results organization={organization} results={results} />
      </Dialog>
    )
  }
  return (
    <Dialog
      title={`Invite people to ${organization}`}
      about="People with an account become members immediately. Others get a link to create one."
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button
            label={emails.length > 1 ? `Invite ${counted(emails.length, 'person', 'people')}` : 'Invite'}
            type="submit"
            form={form}
            kind="primary"
            isPending={isPending}
          />
        </>
      }
    >
      <form id={form} noValidate onSubmit={(event) => void submit(event)} className="space-y-4">
        <TextArea
          label="Email addresses"
          hint="One per line, or separated by commas."
          rows={4}
          value={text}
          error={error}
          onChange={({ target }) => {
            setText(target.value)
            setError(undefined)
          }}
          autoFocus
        />
        <TeamChoice organization={organization} teams={teams} onChange={setTeams} />
      </form>
    </Dialog>
  )
}

type TeamChoiceProps = { organization: string; teams: readonly Choice[]; onChange: (teams: readonly Choice[]) => void }

function TeamChoice({ organization, teams, onChange }: TeamChoiceProps) {
  return (
    <fieldset className="space-y-2">
      <legend className="font-medium">Teams</legend>
      <p className="text-dim">
        Members get the access of their teams: without a team, almost none.{' '}
        <DocsLink page="sign-in" anchor="who-may-add-people-to-a-team">
          Who may add people to a team
        </DocsLink>
      </p>
      <ul className="flex flex-wrap gap-1.5 empty:hidden">
        {teams.map((team) => (
          <li key={team.value} className="inline-flex items-center rounded-md bg-hover pl-2">
            {team.text}
            <IconButton
              label={`Remove the team ${team.text}`}
              icon={X}
              size="small"
              onClick={() => onChange(teams.filter(({ value }) => value !== team.value))}
            />
          </li>
        ))}
      </ul>
      <Picker
        label="Add team"
        size="small"
        placeholder="Team name"
        about={['teams', organization, 'to invite into', teams.length]}
        load={async (text, signal) =>
          (await findManagedTeams(organization, text, signal)).filter(
            (team) => !teams.some(({ value }) => value === team.value),
          )
        }
        onChoose={(team) => onChange([...teams, team])}
      />
    </fieldset>
  )
}

function Results({ organization, results }: { organization: string; results: readonly Invited[] }) {
  const links = results.flatMap(({ email, link }) => (link ? `${email} ${link.url}` : []))
  return (
    <div className="space-y-3">
      {links.length > 0 && (
        <Notice
          tone="good"
          role="status"
          actions={links.length > 1 && <CopyButton text={links.join('\n')} label="Copy all" isIcon={false} />}
        >
          Copy {links.length === 1 ? 'the link' : 'the links'} now: {links.length === 1 ? 'it is' : 'they are'} shown
          only once.
        </Notice>
      )}
      <ul className="space-y-3">
        {results.map(({ email, link, isMember, known, error }) => (
          <li key={email}>
            <p className="font-medium wrap-anywhere">{email}</p>
            {link && <InvitationLink link={link} />}
            {isMember === true && <p className="text-dim">Has an account, and is now a member.</p>}
            {known && <Known organization={organization} member={known} />}
            {error && <ErrorNote error={error} />}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** A member or invited person, whose page has the teams and the invitation. */
function Known({ organization, member: { id, username, attributes } }: { organization: string; member: Member }) {
  const isInvited = attributes.status === 'invited'
  return (
    <p className="text-dim">
      {isInvited ? 'Already invited' : `Already a member${username === undefined ? '' : `: ${username}`}`}.{' '}
      <TargetLink
        leadsTo={{ to: '/app/$organization/members/$member', params: { organization, member: id } }}
        className="text-accent underline"
      >
        {isInvited ? 'Resend the invitation or add them to teams' : 'Add them to teams'}
      </TargetLink>
    </p>
  )
}

/** A new link of an invitation, shown once. */
export function InvitationLink({ link }: { link: Invitation }) {
  return (
    <div className="mt-1 space-y-1">
      <CodeBlock code={link.url} label={`the link for ${link.email}`} />
      <p className="text-dim">
        {link['is-mailed'] ? 'An email with another link is on its way. ' : 'No email is sent: send them the link. '}
        The invitation expires <RelativeTime at={link['expires-at']} />.
      </p>
    </div>
  )
}

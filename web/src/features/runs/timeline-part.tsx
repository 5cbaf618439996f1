import { CirclePlay, MessageSquare } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/feedback.tsx'
import { TextArea } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { TONE_TEXT } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type RunDocument, useAddComment } from './run.ts'
import { STEP_LOOKS } from './stage-strip.tsx'
import { type TimelineEntry, timelineOf } from './timeline.ts'

/** Everything that happened to the run, with its author, and the comments in their place. */
export function TimelinePart({ document }: { document: RunDocument }) {
  const { run } = document
  const entries = timelineOf(document)
  return (
    <div className="rounded-lg border border-line bg-paper p-4">
      <ol aria-label="Timeline" className="space-y-3">
        {entries.map((entry) => (
          <Entry key={entry.id} entry={entry} />
        ))}
      </ol>
      {run.attributes.permissions['can-comment'] && <CommentForm runId={run.id} />}
    </div>
  )
}

/** What is past has its own looks: a start is no work that goes on. */
const LOOKS = {
  ...STEP_LOOKS,
  running: { tone: 'busy', icon: CirclePlay },
  comment: { tone: 'accent', icon: MessageSquare },
} as const

function Entry({ entry: { at, state, author, text, description, comment } }: { entry: TimelineEntry }) {
  const { tone, icon: Icon } = LOOKS[state]
  return (
    <li className="flex gap-3">
      <Icon size={16} aria-hidden="true" className={`mt-0.5 shrink-0 ${TONE_TEXT[tone]}`} />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap gap-x-3">
          <span className="min-w-0 flex-1">
            {author !== undefined && <span className="font-medium">{author} </span>}
            {text}
          </span>
          <span className="text-dim">
            <RelativeTime at={at} />
          </span>
        </p>
        {description !== undefined && <p className="whitespace-pre-line text-dim">{description}</p>}
        {comment !== undefined && (
          <p className="mt-1 rounded-md border border-line bg-ground px-3 py-2 whitespace-pre-line">{comment}</p>
        )}
      </div>
    </li>
  )
}

function CommentForm({ runId }: { runId: string }) {
  const add = useAddComment(runId)
  const [text, setText] = useState('')
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<Error>()

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (isPending || text.trim() === '') return
    setIsPending(true)
    setError(undefined)
    try {
      await add(text.trim())
      setText('')
      toast({ text: 'The comment is added' })
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    } finally {
      setIsPending(false)
    }
  }

  return (
    <form onSubmit={(event) => void submit(event)} className="mt-4 max-w-2xl space-y-2 border-t border-line pt-4">
      <TextArea
        label="Comment"
        rows={3}
        maxLength={10_000}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {error && <ErrorNote error={error} />}
      <Button type="submit" isPending={isPending} reason={text.trim() === '' ? 'write something first' : undefined}>
        Add the comment
      </Button>
    </form>
  )
}

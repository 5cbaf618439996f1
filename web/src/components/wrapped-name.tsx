import { Fragment } from 'react'

/** A name of code that wraps between its words, and within a word only if that does not fit. */
export function WrappedName({ text, className = '' }: { text: string; className?: string }) {
  return (
    <code className={`wrap-break-word ${className}`}>
      {text.split(/(?<=[_.-])(?=[^_.-])/).map((word, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- words may repeat
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {word}
        </Fragment>
      ))}
    </code>
  )
}

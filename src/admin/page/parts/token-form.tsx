import { useEffect, useRef, useState } from 'preact/hooks';

interface TokenFormProps {
  readonly wasWrong: boolean;
  readonly onToken: (token: string) => void;
}

export function TokenForm({ wasWrong, onToken }: TokenFormProps) {
  const [token, setToken] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() !== '') onToken(token.trim());
      }}
    >
      <label for="token">Token of this publisher</label>
      <div class="entry">
        <input
          id="token"
          ref={field}
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={token}
          aria-describedby="token-help token-wrong"
          aria-invalid={wasWrong}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button type="submit">Connect</button>
      </div>
      <p id="token-wrong" class="wrong" role="alert">
        {wasWrong && 'The publisher does not accept this token.'}
      </p>
      <p id="token-help">
        It is what the publisher was started with: <code>HIGHWATER_HTTP_TOKEN</code>, or the file that{' '}
        <code>HIGHWATER_HTTP_TOKEN_FILE</code> names. This tab keeps it until it is closed.
      </p>
    </form>
  );
}

import { render } from 'preact';
import { App } from './parts/app';
import { createStore } from './store';
import { keptToken, openStream } from './stream';

const store = createStore();
const stream = openStream(keptToken(), store.tell);
window.addEventListener('online', stream.hurry);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) stream.hurry();
});
render(<App store={store} stream={stream} />, document.getElementById('page')!);

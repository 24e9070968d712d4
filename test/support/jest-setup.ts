import { listen } from './shared-servers';

export default listen;

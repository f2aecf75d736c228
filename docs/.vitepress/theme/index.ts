/** VitePress's own theme without its web fonts, with our colour and with tables as wide as the page. */
import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
